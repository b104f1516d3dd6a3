// Review tasks: filed in the browser, followed live, decided and landed there.
import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "../support/test.js";
import { checkAccessibility } from "../support/axe.js";
import { Profile, answer, button, live, shows } from "../support/browser.js";
import { installReviewAgents, readTask } from "../support/review.js";
import { World, eventually } from "../support/world.js";

/** @type {World} */
let world;

before(async () => {
  world = await World.start();
  await installReviewAgents(world);
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
const task = (id) => readTask(world, id);

test("a task is filed in the browser, followed live, and landed", async (t) => {
  const hold = join(world.dir, "home/hold");
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
  const hold = join(world.dir, "home/hold");
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

test("a yes to a question that no longer fits the form sends nothing", async (t) => {
  const hold = join(world.dir, "home/hold");
  await writeFile(hold, "");
  t.after(() => rm(hold, { force: true }));
  const page = await reviews(t);
  const id = await file(page, "Write a third greeting");
  await shows(page.locator("#state", { hasText: "Claude Code builds round 1" }));
  await button(page, "Cancel").first().click();
  const question = page.locator("#ask-confirm");
  await shows(question.getByText("Its agent is stopped."));
  await rm(hold);
  // The place of the button is taken by others, such as one that archives.
  const archive = page.locator("form[data-post]").filter({ has: page.locator("button[value=archive]") });
  await archive.and(page.locator(":not([data-settling])")).waitFor({ state: "attached" });
  await question.locator("[data-yes]").click();
  await question.waitFor({ state: "hidden" });
  assert.match((await answer(archive, "bad")) ?? "", /^Not sent: this has changed/);
  const { phase, landed, archived } = await task(id);
  assert.deepEqual([phase, Boolean(landed), Boolean(archived)], ["done", false, false]);
});

test("a directory that Belay has not seen is refused, and what was typed stays", async (t) => {
  const page = await reviews(t, /403/);
  await page.getByLabel(/^Prompt/).fill("Write a greeting elsewhere");
  await page.getByLabel(/^Directory/).fill("/usr");
  await button(page, "File the task").click();
  await shows(page.locator("#file .answer", { hasText: "must be in a project that Belay has seen" }));
  assert.equal(await page.getByLabel(/^Prompt/).inputValue(), "Write a greeting elsewhere");
});

test("rare options are folded, sent, and refused with the reason in place", async (t) => {
  const page = await reviews(t, /422/);
  const more = page.locator("#file details.more");
  await page.getByLabel(/^Prompt/).fill("Write a careful greeting");
  assert.equal(await page.getByLabel(/^Quorum/).isVisible(), false);
  await more.locator("summary").click();
  await page.getByLabel(/^Quorum/).fill("2");
  await page.getByLabel(/^Budget in tokens/).fill("500000");
  await page.getByLabel(/^Minutes per round/).fill("45");
  await shows(page.locator("#file .cmd", { hasText: "--quorum 2 --timeout 45m --rounds 10 --budget 5usd,500000tokens" }));
  await button(page, "File the task").click();
  await shows(page.locator("#file .answer", { hasText: "a quorum is 1 to 1 in this task, not 2" }));
  assert.equal(await page.getByLabel(/^Budget in tokens/).inputValue(), "500000", "what was typed stays");
  await checkAccessibility(page, "/reviews with all options");

  // A field that the browser itself refuses is shown, although it was folded.
  await page.getByLabel(/^Quorum/).fill("0");
  await more.locator("summary").click();
  await button(page, "File the task").click();
  await shows(page.getByLabel(/^Quorum/));

  await page.getByLabel(/^Quorum/).fill("1");
  await button(page, "File the task").click();
  await page.waitForURL(/\/reviews\/r-/);
  const view = await task(page.url().split("/").at(-1) ?? "");
  assert.deepEqual([view.quorum, view.budget_tokens, view.budget_micros], [1, 500_000, 5_000_000]);
});

test("without a login, tasks are read and cannot be filed", async (t) => {
  const profile = await Profile.open(t, world);
  profile.tolerated.push(/401/);
  const page = await profile.tab("/reviews");
  assert.equal(await button(page, "File the task").isDisabled(), true);
  const body = JSON.stringify({ prompt: "x", project_dir: world.project("shop") });
  const response = await fetch(`${world.url}/api/v1/reviews`, { method: "POST", headers: { "content-type": "application/json" }, body });
  assert.equal(response.status, 401);
});
