// Review tasks: filed in the browser, followed live, decided and landed there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Agent } from "../support/agent.js";
import { Profile, button, live, shows } from "../support/browser.js";
import { World, eventually } from "../support/world.js";

/** @type {World} */
let world;

/** Waits until the test lets it go on, so that a page can be looked at while an agent works. */
const GATE = "while [ -e \"$HOME/hold\" ]; do sleep 0.05; done";

/** Claude Code's headless mode: reads the prompt, writes a file, and answers in its JSON. */
const BUILDER = `#!/bin/sh
cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"0190a1b2-0000-7000-8000-00000000c0de"}'
echo '{"type":"assistant","session_id":"0190a1b2-0000-7000-8000-00000000c0de","message":{"id":"m1","content":[{"type":"text","text":"Writing <b>greeting.txt</b>"}],"usage":{"input_tokens":900,"output_tokens":50}}}'
${GATE}
if [ -e greeting.txt ]; then echo "Hello, world" > greeting.txt; else echo "Goodbye" > greeting.txt; fi
echo '{"type":"result","subtype":"success","is_error":false,"result":"I wrote the greeting.","session_id":"0190a1b2-0000-7000-8000-00000000c0de","total_cost_usd":0.02,"usage":{"input_tokens":900,"output_tokens":50}}'
`;

/** @param {object} verdict As Codex prints its last message. */
const said = (verdict) => JSON.stringify({ type: "item.completed", item: { type: "agent_message", text: JSON.stringify(verdict) } });
const WRONG_GREETING = {
  id: null,
  file: "greeting.txt",
  line: 1,
  claim: "The greeting is wrong <script>alert(1)</script>",
  severity: "major",
  evidence: "cat greeting.txt",
  reason: null,
};

/** Codex's headless mode: a verdict in the schema that Belay asks for. */
const REVIEWER = `#!/bin/sh
cat > /dev/null
echo '{"type":"thread.started","thread_id":"0190a1b2-0000-7000-8000-00000000beef"}'
if grep -q Hello greeting.txt; then cat <<'END'
${said({ status: "done", action: null, issues: [] })}
END
else cat <<'END'
${said({ status: "issues_found", action: null, issues: [WRONG_GREETING] })}
END
fi
echo '{"type":"turn.completed","usage":{"input_tokens":700,"output_tokens":40}}'
`;

before(async () => {
  world = await World.start();
  const home = join(world.folder, "home");
  const config = join(home, ".config/belay");
  await mkdir(config, { recursive: true });
  /** @type {[string, string, string][]} */
  const programs = [
    ["claude-code", "claude", BUILDER],
    ["codex", "codex", REVIEWER],
  ];
  let settings = "";
  for (const [agent, name, script] of programs) {
    const program = join(home, name);
    await writeFile(program, script);
    await chmod(program, 0o755);
    settings += `[agents.${agent}]\nprogram = "${program}"\n`;
  }
  await writeFile(join(config, "config.toml"), settings);
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync("git", ["-c", "user.name=ada", "-c", "user.email=ada@example.com", ...args], { cwd: world.project("shop") });
  git("init", "--quiet", "--initial-branch=main");
  git("config", "user.name", "ada");
  git("config", "user.email", "ada@example.com");
  await writeFile(join(world.project("shop"), "README"), "A shop\n");
  git("add", ".");
  git("commit", "--quiet", "--message", "Start");
  // A project that Belay has seen.
  await Agent.start(world, "seen", { project: "shop" });
});
after(() => world.stop());

/** @param {import("node:test").TestContext} t @param {RegExp[]} tolerated */
async function reviews(t, ...tolerated) {
  const profile = await Profile.open(t, world);
  profile.tolerated.push(...tolerated);
  const page = await profile.logIn();
  await page.goto("/reviews");
  await live(page);
  return page;
}

/** @param {import("playwright-core").Page} page @param {string} prompt */
async function file(page, prompt) {
  await page.getByLabel(/^Prompt/).fill(prompt);
  await page.getByLabel(/^Accept commands/).fill("test -e greeting.txt");
  await button(page, "File the task").click();
  await page.waitForURL(/\/reviews\/r-/);
  await live(page);
  return page.url().split("/").at(-1) ?? "";
}

/** @param {string} id */
const task = async (id) => JSON.parse((await world.get(`/api/v1/reviews/${id}`)).body);

test("a task is filed in the browser, followed live, and landed", async (t) => {
  const hold = join(world.folder, "home/hold");
  await writeFile(hold, "");
  const page = await reviews(t);
  const id = await file(page, "Write a greeting");
  await shows(page.locator("#state", { hasText: "Claude Code builds round 1" }));
  await shows(page.locator("#output", { hasText: "Writing <b>greeting.txt</b>" }));
  await rm(hold);
  await shows(page.locator("#state", { hasText: /Approved by Codex after 2 rounds/ }));
  await shows(page.locator("#ledger", { hasText: "The greeting is wrong <script>alert(1)</script>" }));
  await shows(page.locator("#ledger", { hasText: "fixed in round 2" }));
  const view = await task(id);
  assert.deepEqual([view.phase, view.rounds.length, view.issues[0].state], ["done", 2, "fixed"]);
  await page.goto(`/reviews/${id}?diff=2`);
  await shows(page.getByText("+Hello, world"));
  await button(page, "Land").first().click();
  await page.locator("#ask-confirm [data-yes]").click();
  await eventually("the result is merged", async () => (await task(id)).landed);
  assert.equal(await readFile(join(world.project("shop"), "greeting.txt"), "utf8"), "Hello, world\n");
});

test("a task is cancelled in the browser, and its agent ends", async (t) => {
  const hold = join(world.folder, "home/hold");
  await writeFile(hold, "");
  t.after(() => rm(hold, { force: true }));
  const page = await reviews(t);
  const id = await file(page, "Write another greeting");
  await shows(page.locator("#state", { hasText: "Claude Code builds round 1" }));
  await button(page, "Cancel").first().click();
  await page.locator("#ask-confirm [data-yes]").click();
  await shows(page.locator("#state", { hasText: "Cancelled by" }));
  assert.equal((await task(id)).phase, "cancelled");
});

test("a folder that Belay has not seen is refused, and what was typed stays", async (t) => {
  const page = await reviews(t, /403/);
  await page.getByLabel(/^Prompt/).fill("Write a greeting elsewhere");
  await page.getByLabel(/^Folder/).fill("/usr");
  await button(page, "File the task").click();
  await shows(page.locator("#file .answer", { hasText: "must be in a project that Belay has seen" }));
  assert.equal(await page.getByLabel(/^Prompt/).inputValue(), "Write a greeting elsewhere");
});

test("without a login, tasks are read and cannot be filed", async (t) => {
  const profile = await Profile.open(t, world);
  profile.tolerated.push(/401/);
  const page = await profile.tab("/reviews");
  assert.equal(await button(page, "File the task").isDisabled(), true);
  const body = JSON.stringify({ prompt: "x", folder: world.project("shop") });
  const response = await fetch(`${world.url}/api/v1/reviews`, { method: "POST", headers: { "content-type": "application/json" }, body });
  assert.equal(response.status, 401);
});
