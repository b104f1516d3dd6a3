// One long session: 355 calls of honest work, then the 57 calls of the reference picture, which end in a loop.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Story } from "./story.js";

/** Number, time, what, outcome and money since progress of each call, separated by tabs. */
const CALLS = readFileSync(join(import.meta.dirname, "../../crates/dashboard/examples/gallery/cart_calls.tsv"), "utf8");

/** The tests of the project, in the order in which they are fixed. */
const TESTS = ["formats EUR", "tax on refund", "tax on discounted price", "rounds half up per line", "coupon on zero total", "applies two coupons", "adds up a cart with a discount"];

/** The session is held since this many seconds. */
const HELD = 23 * 60;

/** The first call of the loop. */
const LOOP = 392;

/** Calls before those of the picture, and seconds between two of them. */
const EARLIER = { calls: 355, seconds: 14 };

/** @param {string} text `13:24:08` */
const seconds = (text) => text.split(":").reduce((sum, part) => sum * 60 + Number(part), 0);

/** @param {import("./world.js").World} world */
export async function play(world) {
  const calls = CALLS.trimEnd().split("\n").map((line) => line.split("\t"));
  const clock = (/** @type {number} */ at) => seconds(calls[at]?.[1] ?? "0:0:0");
  const length = clock(calls.length - 1) - clock(0);
  const story = new Story(world, "claude-code:cart", {
    task: "Fix the cart discount test", project: "shop", branch: "fix/cart-discount", model: "claude-sonnet-4-5", version: "2.1.291",
    ago: HELD + length + EARLIER.calls * EARLIER.seconds,
  });
  await story.post();
  await subAgents(world, story.key);
  await world.run(["budget", story.key, "15usd"]);
  story.usage = { input: 400, output: 250, cache_read: 38_000, cache_write: 700 };
  story.work(EARLIER.calls, EARLIER.seconds);
  let context = 96_000;
  for (const [at, [number = "", , what = "", outcome = ""]] of calls.entries()) {
    context += 2200;
    if (number === "375") {
      story.add({ kind: "compacted", automatic: true, before: context });
      context = 62_000;
    }
    if (number === "379") story.add({ kind: "prompt", by: "person", text: "now coupons" });
    story.usage = { input: 500, output: 900, cache_read: context, cache_write: 2200 };
    playCall(story, what, outcome, at + 1 < calls.length ? clock(at + 1) - clock(at) : 8);
    // A session that is held makes no further calls.
    if (Number(number) < LOOP) continue;
    await story.post();
    if ((await world.session(story.key)).held) break;
  }
  return story;
}

/**
 * @param {Story} story
 * @param {string} what
 * @param {string} outcome
 * @param {number} seconds
 */
function playCall(story, what, outcome, seconds) {
  const [tool = "", ...rest] = what.split(" ");
  const target = rest.join(" ");
  const failed = /failing|error/.test(outcome);
  if (tool === "Read") story.call("Read", { file_path: target }, `// ${outcome}`, { seconds });
  else if (tool === "Grep") story.call("Grep", { pattern: target }, outcome, { seconds });
  else if (tool === "Edit") story.call("Edit", edit(target, outcome), "The file has been updated.", { seconds });
  else story.shell(what, tool === "npm" ? testRun(outcome) : outcome, { ok: !failed, seconds });
}

/**
 * An edit that leads to the content that the outcome names.
 * @param {string} file
 * @param {string} outcome
 */
function edit(file, outcome) {
  const [before, after] = ["return sum - discount", "return applyOnce(sum, discount)"];
  if (file !== "src/cart.ts") return { file_path: file, old_string: `before ${outcome}`, new_string: `after ${outcome}` };
  return outcome.startsWith("back") ? { file_path: file, old_string: after, new_string: before } : { file_path: file, old_string: before, new_string: after };
}

/** @param {string} outcome `3 failing` */
function testRun(outcome) {
  const failing = Number.parseInt(outcome, 10);
  const failed = TESTS.slice(TESTS.length - failing).map((name) => `  ● ${name}\n\n    Expected: 90\n    Received: ${100 + failing}`);
  return [...failed, "", `Tests:       ${failing} failed, ${TESTS.length - failing} passed, ${TESTS.length} total`].join("\n");
}

/**
 * @param {import("./world.js").World} world
 * @param {string} parent
 */
async function subAgents(world, parent) {
  const callers = new Story(world, "claude-code:callers", { task: "Find all callers of applyDiscount", project: "shop", model: "claude-haiku-4-5", ago: 4800, parent });
  callers.work(38, 9).add({ kind: "session_ended", reason: "done" });
  await callers.post();
  const rules = new Story(world, "claude-code:rules", { task: "Explain the pricing rules", project: "shop", model: "claude-haiku-4-5", ago: 4200, parent });
  rules.work(21, 9).add({ kind: "session_ended", reason: "done" });
  await rules.post();
  const pricing = new Story(world, "claude-code:pricing", { task: "Read docs/pricing", project: "shop", model: "claude-haiku-4-5", ago: 4100, parent: rules.key });
  pricing.work(6, 9).add({ kind: "session_ended", reason: "done" });
  await pricing.post();
}
