// Quotas: from the headers of responses that pass the proxy, and from the session files of Codex.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "../support/test.js";
import { Profile, shows } from "../support/browser.js";
import { reportQuotas, startProvider } from "../support/upstream.js";
import { World, eventually } from "../support/world.js";

/** @type {World} */
let world;
/** @type {Awaited<ReturnType<typeof startProvider>>} */
let provider;

before(async () => {
  provider = await startProvider();
  world = await World.start({ settings: provider.settings });
});
after(async () => {
  await world.stop();
  provider.stop();
});

/** @returns {Promise<{ account: string, limit: string, used_percent: number }[]>} */
const quotas = async () => JSON.parse((await world.get("/api/v1/quotas")).body).quotas;

test("quotas are read from headers and session files, shown, and kept over a restart", async (t) => {
  await reportQuotas(world);
  const rollout = join(world.dir, "home/rollout-2026-11-18T09-00-00-00000000-0000-7000-8000-000000000001.jsonl");
  const windows = { primary: { used_percent: 37.5, window_minutes: 300, resets_in_seconds: 7200 }, secondary: { used_percent: 12, window_minutes: 10_080, resets_in_seconds: 90_000 } };
  const line = { timestamp: new Date().toISOString(), type: "event_msg", payload: { type: "token_count", info: null, rate_limits: windows } };
  await writeFile(rollout, `${JSON.stringify(line)}\n`);
  const session = { agent: "codex", id: "00000000-0000-7000-8000-000000000001" };
  await world.post([{ v: 1, id: "start", at: new Date().toISOString(), session, kind: "session_started", transcript: rollout }]);
  await eventually("read", async () => (await quotas()).some(({ account }) => account === "ChatGPT"));

  const page = await (await Profile.open(t, world)).tab("/");
  const row = page.locator("#quota tr").filter({ hasText: "ChatGPT" }).filter({ hasText: "5 hours" });
  await shows(row.getByText("38 %"));
  const before = await quotas();
  assert.equal(before.length, 6, JSON.stringify(before));
  await page.close();
  await world.halt();
  await world.serve();
  assert.deepEqual(await quotas(), before);
});
