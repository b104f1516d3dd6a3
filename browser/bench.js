// Measures how long a change takes from the agent's hook to the screen: `cargo xtask bench screen`.
import { createConnection } from "node:net";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { launchOptions, live } from "./support/browser.js";
import { World } from "./support/world.js";

const SESSIONS = 100;
const EVENTS_PER_SECOND = 50;
const SECONDS = Number(process.argv[2] ?? 20);
/** Milliseconds from the event to the frame that shows it. */
const MAX_P95 = 300;

/** The clock of pages: `performance` has the same origin there. */
const now = () => performance.timeOrigin + performance.now();

/** Calls hooks as `belay hook` does, over the socket. */
class Hooks {
  #socket;
  #lines;

  /** @param {string} path */
  constructor(path) {
    this.#socket = createConnection(path);
    this.#lines = createInterface(this.#socket)[Symbol.asyncIterator]();
  }

  /**
   * @param {number} session
   * @param {string} event
   * @param {object} fields
   */
  async call(session, event, fields) {
    const payload = { session_id: `session-${session}`, hook_event_name: event, cwd: world.project("shop"), ...fields };
    const params = { id: crypto.randomUUID(), agent: "claude-code", payload, at: new Date().toISOString(), cwd: payload.cwd };
    this.#socket.write(`${JSON.stringify({ op: "hook", params })}\n`);
    const { value } = await this.#lines.next();
    const answer = JSON.parse(value);
    if (!answer.ok) throw new Error(value);
  }

  close() {
    this.#socket.destroy();
  }
}

/**
 * A call, or the result of the session's last call.
 * @param {Hooks} hooks
 * @param {number} session
 * @param {number} round
 * @param {boolean} isResult
 */
function step(hooks, session, round, isResult) {
  const command = `step-${session}-${round}`;
  const tool = { tool_name: "Bash", tool_input: { command }, tool_use_id: `t-${round}` };
  if (!isResult) return hooks.call(session, "PreToolUse", tool);
  return hooks.call(session, "PostToolUse", { ...tool, tool_response: { stdout: `done ${round}`, stderr: "", interrupted: false } });
}

/** Runs in the page: notes when the text of a call is first in a frame. */
function watch() {
  const seen = /** @type {Record<string, number>} */ ({});
  Object.assign(window, { seen });
  const look = () => {
    const fresh = [...document.querySelectorAll("#working tr[data-row] code")].map((code) => code.textContent ?? "").filter((text) => !(text in seen));
    if (!fresh.length) return;
    for (const text of fresh) seen[text] = Infinity;
    requestAnimationFrame(() => {
      for (const text of fresh) seen[text] = performance.timeOrigin + performance.now();
    });
  };
  look();
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
}

/**
 * @param {number[]} sorted
 * @param {number} percent
 */
const percentile = (sorted, percent) => sorted[Math.floor(((sorted.length - 1) * percent) / 100)] ?? Infinity;

const world = await World.start();
const browser = await chromium.launch(launchOptions());
try {
  const hooks = new Hooks(String((await world.json(["config", "path"])).socket));
  for (let session = 0; session < SESSIONS; session++) {
    await hooks.call(session, "UserPromptSubmit", { prompt: `Task ${session}` });
    await step(hooks, session, 0, false);
  }
  const page = await (await browser.newContext({ baseURL: world.url, viewport: { width: 1440, height: 900 } })).newPage();
  await page.goto("/");
  await live(page);
  await page.locator("#working").getByText("step-0-0").waitFor();
  await page.evaluate(watch);
  /** @type {Map<string, number>} */
  const sent = new Map();
  const begin = now();
  for (let event = 0; event < EVENTS_PER_SECOND * SECONDS; event++) {
    const due = begin + (event * 1000) / EVENTS_PER_SECOND;
    if (due > now()) await new Promise((next) => setTimeout(next, due - now()));
    const session = Math.floor(event / 2) % SESSIONS;
    const round = Math.floor(event / 2 / SESSIONS);
    // First the result of the session's call, then its next call, which the page shows.
    const isResult = event % 2 === 0;
    if (!isResult) sent.set(`step-${session}-${round + 1}`, now());
    await step(hooks, session, isResult ? round : round + 1, isResult);
  }
  const took = (now() - begin) / 1000;
  // A change that never shows counts as infinitely late.
  await page.waitForTimeout(1000);
  /** @type {Record<string, number>} */
  const seen = await page.evaluate(() => Reflect.get(window, "seen"));
  const delays = [...sent].map(([text, at]) => (seen[text] ?? Infinity) - at).sort((a, b) => a - b);
  hooks.close();
  const rate = Math.round((EVENTS_PER_SECOND * SECONDS) / took);
  const [p50, p95, last] = [50, 95, 100].map((percent) => percentile(delays, percent));
  const isMet = (p95 ?? Infinity) < MAX_P95;
  console.log(`${SESSIONS} sessions, ${rate} events/s for ${Math.round(took)} s, ${delays.length} changes`);
  console.log(`event -> screen: p50 ${p50?.toFixed(0)} ms, p95 ${p95?.toFixed(0)} ms, maximum ${last?.toFixed(0)} ms; target: p95 < ${MAX_P95} ms; ${isMet ? "met" : "MISSED"}`);
  if (!isMet) process.exitCode = 1;
} finally {
  await browser.close();
  await world.stop();
}
