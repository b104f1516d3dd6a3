// Audits, and what a setting would have done on past sessions.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "../support/test.js";
import { Profile, button, disappears, live, shows } from "../support/browser.js";
import { World, eventually } from "../support/world.js";

/** Enough for an audit to be cancelled while it reads. */
const FILES = 120;

/** @type {World} */
let world;

before(async () => {
  world = await World.start();
  const dir = join(world.dir, "home/.claude/projects/-code-shop");
  await mkdir(dir, { recursive: true });
  for (let file = 0; file < FILES; file++) await writeFile(join(dir, `${sessionId(file)}.jsonl`), transcript(file));
});
after(() => world.stop());

/** @param {number} file */
const sessionId = (file) => `00000000-0000-4000-8000-${String(file).padStart(12, "0")}`;

/**
 * A session of Claude Code that runs one failing command eight times.
 * @param {number} file
 */
function transcript(file) {
  const at = (/** @type {number} */ second) => new Date(Date.now() - 86_400_000 + second * 1000).toISOString();
  const common = { sessionId: sessionId(file), cwd: "/code/shop", version: "2.1.0", isSidechain: false, userType: "external" };
  const lines = [{ ...common, type: "user", uuid: "u0", parentUuid: null, timestamp: at(0), message: { role: "user", content: "Build it" } }];
  for (let call = 1; call <= 8; call++) {
    const id = `toolu_${file}_${call}`;
    const usage = { input_tokens: 9000, output_tokens: 500, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    const content = [{ type: "tool_use", id, name: "Bash", input: { command: "make" } }];
    const result = [{ type: "tool_result", tool_use_id: id, is_error: true, content: "Exit code 2\nmake: *** No rule to make target 'all'.  Stop." }];
    const message = { id: `msg_${file}_${call}`, type: "message", role: "assistant", model: "claude-sonnet-4-5", content, usage };
    lines.push(/** @type {any} */ ({ ...common, type: "assistant", uuid: `a${call}`, parentUuid: null, requestId: `r${file}${call}`, timestamp: at(call * 20), message }));
    lines.push(/** @type {any} */ ({ ...common, type: "user", uuid: `u${call}`, parentUuid: null, timestamp: at(call * 20 + 5), message: { role: "user", content: result } }));
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** @param {import("node:test").TestContext} t */
async function history(t, path = "/history") {
  const page = await (await Profile.open(t, world)).logIn();
  await page.goto(path);
  await live(page);
  return page;
}

test("an audit that runs can be cancelled, and leaves no report", async (t) => {
  const page = await history(t);
  // A second audit that begins by itself would hide the first; so the page is asked as soon as it runs.
  await button(page, "Start the audit").click();
  await button(page.locator("#audits"), "Cancel").click();
  await shows(button(page, "Start the audit"));
  const { audits, running } = JSON.parse((await world.get("/api/v1/audits")).body);
  assert.deepEqual([audits, running], [[], undefined]);
  assert.equal(await page.locator("#audits tbody tr").count(), 0);
});

test("an audit shows its progress, and its report when it is done", async (t) => {
  const page = await history(t);
  await button(page, "Start the audit").click();
  const line = page.locator("#audits tbody tr").first();
  await shows(line);
  assert.match((await line.textContent()) ?? "", /sessions of the last 30 days/);
  await line.getByRole("link", { name: "Report" }).click();
  await page.waitForURL(/\/history\/audits\//);
  assert.match((await page.locator("body").textContent()) ?? "", new RegExp(String(FILES)));
});

test("Settings leads to History with the setting selected; its result can be saved", async (t) => {
  const page = await (await Profile.open(t, world)).logIn();
  await page.goto("/settings");
  const key = "detect.ladder.pause_at";
  const row = page.locator("tr[data-setting]").filter({ has: page.locator("th code", { hasText: new RegExp(`^${key}$`) }) });
  await row.getByRole("link", { name: "Try…" }).click();
  await page.waitForURL(/\/history\?key=/);
  await live(page);
  const form = page.locator('form[action="/history/try"]');
  assert.equal(await form.locator("select").inputValue(), key);
  await form.getByLabel("with the value").fill("20");
  await button(form, "Try it").click();
  const tried = page.locator("#tried");
  await shows(tried.getByText(`${FILES} sessions`));
  await shows(tried.getByRole("row", { name: /^Sessions paused/ }));
  assert.match((await world.run(["config", "get", key])).out, /^\d/);
  await button(tried, "Save this value").click();
  await eventually("saved", async () => (await world.run(["config", "get", key])).out.trim() === "20");
});

test("a setting that does not change detection is not offered, and its link says why", async (t) => {
  const page = await history(t, "/history?key=approvals.wait");
  await shows(page.getByText("approvals.wait cannot be tried"));
  await page.goto("/settings");
  const row = page.locator("tr[data-setting]").filter({ has: page.locator("th code", { hasText: /^approvals\.wait$/ }) });
  await shows(row);
  assert.equal(await row.getByRole("link", { name: "Try…" }).count(), 0);
  await disappears(page.locator("#tried"));
});
