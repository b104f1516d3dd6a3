// A day with ten agents: every page has something to show. The work of the last hours is posted with its own times; what
// needs a person goes through real hooks and the real proxy.
import { Agent } from "./agent.js";
import { play as playCart } from "./cart.js";
import { Story } from "./story.js";
import { reportQuotas, startProvider } from "./upstream.js";
import { World, eventually } from "./world.js";

/** The pages of the scene. */
export const PAGES = [
  "/",
  "/sessions/claude-code:cart",
  "/sessions/claude-code:docs",
  "/sessions/codex:login",
  "/incidents",
  "/incidents?state=acknowledged",
  "/incidents?state=closed",
  "/history",
  "/history?key=detect.ladder.pause_at#try",
  "/spend",
  "/settings",
];

const MINUTE = 60;

/** Agents and their models. */
const MODELS = /** @type {const} */ ([["claude-code", "claude-sonnet-4-5"], ["codex", "gpt-5.1-codex"], ["gemini", "gemini-2.5-pro"], ["claude-code", "claude-opus-4-5"]]);

const PROJECTS = ["shop", "payments", "infra", "docs-site", "admin-ui", "orders"];

/**
 * A world in which the scene has been played.
 * @param {{ timezone?: string }} [options]
 */
export async function playedWorld({ timezone } = {}) {
  const provider = await startProvider();
  const world = await World.start({ settings: ["approvals.enabled=true", "approvals.wait=540s", ...provider.settings], timezone });
  await world.run(["config", "set", "approvals.enabled", "true"]);
  const agents = await play(world);
  await reportQuotas(world);
  provider.stop();
  return { world, agents };
}

/** @param {World} world */
async function play(world) {
  const cart = await playCart(world);
  await past(world);
  const stories = { ...(await needing(world)), ...(await working(world)) };

  const docs = new Story(world, "claude-code:docs", {
    task: "Describe the new flags", project: "blog", branch: "docs/flags", model: "claude-haiku-4-5", version: "2.1.291", ago: 7 * MINUTE,
  });
  docs.work(9, 38).call("Read", { file_path: "docs/flags.md" }, "# Flags", { seconds: 3 });
  docs.begin("Edit", { file_path: "docs/flags.md", old_string: "--dry", new_string: "--dry-run" });
  await docs.post();

  // A permission that waits for an answer: the hook returns with it, or when the server stops.
  const work = new Story(world, "claude-code:push", {
    task: "Release 1.4", project: "shop", branch: "release/1.4", model: "claude-sonnet-4-5", version: "2.1.291", ago: 12 * MINUTE,
  });
  await work.work(18, 38).post();
  const push = new Agent(world, "push");
  const tool = { tool_name: "Bash", tool_input: { command: "git push origin v1.4 && npm publish --access public" }, tool_use_id: "p1" };
  await push.hook("PreToolUse", tool);
  push.hook("PermissionRequest", tool).catch(() => {});
  await eventually("the permission is offered", async () => JSON.parse((await world.get("/api/v1/approvals")).body).approvals.length === 1);
  return { cart, docs, push, ...stories };
}

/**
 * Sessions that need a person.
 * @param {World} world
 */
async function needing(world) {
  const column = new Story(world, "claude-code:column", {
    task: "PDF invoices for EU customers", project: "billing-api", branch: "feat/invoices-pdf", model: "claude-sonnet-4-5", version: "2.1.291", ago: 96 * MINUTE,
  });
  column.work(40, 82).add({ kind: "turn_ended", text: "Two customers have no VAT id. Should I leave the line out, or block the invoice?" });
  await column.post();

  const done = new Story(world, "gemini:guide", {
    task: "Translate the setup guide", project: "docs-site", branch: "l10n/pt-br", model: "gemini-2.5-pro", ago: 58 * MINUTE,
  });
  done.work(30, 80).add({ kind: "turn_ended", text: "14 files changed, 3 commits. All links are checked." });
  await done.post();

  const state = new Story(world, "codex:state", {
    task: "Split the Terraform state", project: "infra", branch: "tf/split-state", model: "gpt-5.1-codex", version: "0.166.0", ago: 41 * MINUTE,
  });
  await state.post();
  await world.run(["budget", state.key, "5usd"]);
  state.usage = { input: 52_000, output: 5200, cache_read: 230_000 };
  state.work(35, 54);
  state.begin("Bash", { command: "terraform plan -out split.tfplan" });
  await state.post();

  const flaky = new Story(world, "codex:login", {
    task: "Flaky login test", project: "admin-ui", branch: "fix/flaky-login", model: "gpt-5.1-codex", version: "0.166.0", ago: 28 * MINUTE,
  });
  flaky.usage = { input: 9000, output: 1800, cache_read: 90_000 };
  flaky.work(34, 40);
  for (let round = 0; round < 4; round++) {
    flaky.usage = { input: 14_000 + 2500 * round, output: 2600, cache_read: 110_000 };
    flaky.shell("npx playwright test login --repeat-each 20", "1) login.spec.ts:41 › remembers the device\n\n  Error: Timed out 5000ms waiting for expect(locator).toBeVisible()\n\n  1 failed\n  19 passed", { ok: false, seconds: 60 });
  }
  await flaky.post();
  await world.run(["budget", flaky.key, "5usd"]);
  return { column, done, state, flaky };
}

/**
 * Sessions that work, or wait by themselves.
 * @param {World} world
 */
async function working(world) {
  const refunds = new Story(world, "claude-code:refunds", {
    task: "Refunds, milestone 5", project: "payments", branch: "builder-1", model: "claude-opus-4-5", version: "2.1.291", ago: 73 * MINUTE,
  });
  await refunds.post();
  await world.run(["budget", refunds.key, "15usd"]);
  refunds.usage = { input: 1500, output: 2400, cache_read: 88_000, cache_write: 2600 };
  refunds.work(110, 39).begin("Bash", { command: "cargo test -p ledger refunds" });
  await refunds.post();

  const retries = new Story(world, "opencode:retries", {
    task: "Retry with backoff in the worker", project: "orders", branch: "feat/retries", model: "claude-sonnet-4-5", ago: 24 * MINUTE,
  });
  await retries.post();
  await world.run(["budget", retries.key, "10usd"]);
  retries.usage = { input: 2500, output: 1900, cache_read: 42_000, cache_write: 3100 };
  retries.work(44, 30).work(6, 12);
  await retries.post();

  const keys = new Story(world, "gemini:keys", {
    task: "Idempotency keys, round 4", project: "payments", branch: "task/idempotency", model: "gemini-2.5-pro", ago: 11 * MINUTE,
  });
  keys.usage = { input: 34_000, output: 2200, cache_read: 20_000 };
  keys.work(14, 45);
  await keys.post();

  const plan = new Story(world, "claude-code:plan", {
    task: "Plan of the ledger rewrite", project: "payments", branch: "planner", model: "claude-opus-4-5", version: "2.1.291", ago: 52 * MINUTE,
  });
  plan.work(36, 70).add({ kind: "limit_hit", what: "5-hour limit reached", resets_at: new Date(Date.now() + 77 * MINUTE * 1000).toISOString() });
  await plan.post();

  const rollout = new Story(world, "codex:rollout", {
    task: "Roll out the new gateway", project: "infra", branch: "gateway", model: "gpt-5.1-codex", version: "0.166.0", ago: 35 * MINUTE,
  });
  rollout.work(26, 66).add({ kind: "waiting", what: "kubectl rollout status deploy/gateway", until: new Date(Date.now() + 25 * MINUTE * 1000).toISOString() });
  await rollout.post();
  return { refunds, retries, keys, plan, rollout };
}

/**
 * Sessions of the last weeks, and incidents that are closed.
 * @param {World} world
 */
async function past(world) {
  // Two to four sessions a day, fewer at weekends, and the hours of today before the others began.
  const starts = Array.from({ length: 29 }, (_, day) => (day % 7 > 4 ? [310] : day % 3 ? [520, 305, 190] : [640, 400, 290, 160]).map((minutes) => ({ day, minutes }))).flat();
  for (const [at, { day, minutes }] of starts.entries()) {
    const [agent, model] = MODELS[at % MODELS.length] ?? ["claude-code", "claude-sonnet-4-5"];
    const story = new Story(world, `${agent}:past-${at}`, {
      task: `Maintenance ${at}`, project: PROJECTS[at % PROJECTS.length] ?? "shop", model, ago: day * 24 * 60 * MINUTE + minutes * MINUTE,
    });
    story.usage = { input: 4000, output: 9000, cache_read: 400_000 + 90_000 * ((at * 7) % 11), cache_write: 30_000 };
    story.work(8 + ((at * 5) % 11), 240).add({ kind: "session_ended", reason: "exit" });
    await story.post();
  }

  const image = await Agent.start(world, "closed", { prompt: "Build the image", project: "infra" });
  await image.loop("docker build .");
  await world.run(["resume", image.key, "-m", "The daemon runs now"]);
  await image.call("docker build .");
  await image.finish("The image is built and pushed.");
  await world.run(["seen", image.key]);

  const notes = await Agent.start(world, "notes", { prompt: "Release notes for 4.12", project: "shop" });
  await notes.loop("gh release view v4.12");
  await world.run(["kill", notes.key, "-m", "Start again with the template"]);

  const search = await Agent.start(world, "search", { prompt: "Rebuild the search index", project: "shop" });
  await search.loop("make index");
  await world.run(["ack", search.key]);
}
