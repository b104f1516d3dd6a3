// Review tasks on the overview: they appear while it is open, and are resolved there.
import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "../support/test.js";
import { checkAccessibility } from "../support/axe.js";
import { Profile, answer, button, disappears, live, shows } from "../support/browser.js";
import { installReviewAgents, readTask } from "../support/review.js";
import { World, eventually } from "../support/world.js";

/** @type {World} */
let world;

before(async () => {
  world = await World.start();
  await installReviewAgents(world);
});
after(() => world.stop());

/**
 * Files a task whose only round leaves an issue open.
 * @param {string} title
 */
async function file(title) {
  const options = ["--dir", world.project("shop"), "--builder", "claude", "--reviewer", "codex", "--rounds", "1"];
  const filed = await world.run(["review", "start", title, ...options, "--detach", "--json"]);
  assert.equal(filed.code, 0, filed.err);
  return String(JSON.parse(filed.out).id);
}

/** @param {string} id @param {string} phase */
const reaches = (id, phase) => eventually(`${id} is ${phase}`, async () => (await readTask(world, id)).phase === phase);

/** @param {import("playwright-core").Page} page @param {string} id */
const row = (page, id) => page.locator(`#needs li:not(.resolved):has(h3 a[href="/reviews/${id}"])`);

/** @param {import("playwright-core").Page} page */
async function needCount(page) {
  const counts = await page.locator("#summary [href='#needs'] .count, #pages [data-go=o] .count").allTextContents();
  return [...new Set(counts.map(Number))];
}

test("a task appears without a reload, goes on with a click, and waits to be landed", async (t) => {
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);
  assert.match(await page.title(), /^Overview/);
  await page.evaluate(() => Object.assign(window, { sameDocument: true }));
  const id = await file("Write a greeting");
  await shows(row(page, id).getByText("Issues are open after the only round."));
  await shows(row(page, id).getByText("Out of rounds"));
  const { reviews } = JSON.parse((await world.get("/api/v1/overview")).body);
  assert.deepEqual([reviews.length, reviews[0].id, reviews[0].attention], [1, id, "rounds_used"]);
  await eventually("counted once, everywhere", async () => /^1 needs you/.test(await page.title()));
  assert.deepEqual(await needCount(page), [1]);
  await shows(page.locator("#pages [data-go=r] .count", { hasText: /^1$/ }));

  await button(row(page, id), "Give it 1 more round").click();
  await shows(row(page, id).getByText("Approved by Codex after 2 rounds."));
  await shows(row(page, id).getByText("Finished"));
  assert.equal(await page.evaluate(() => "sameDocument" in window), true, "the page was not loaded again");
});

test("a task is accepted, cancelled and sent back; other browsers are told by whom", async (t) => {
  const mine = await (await Profile.open(t, world)).logIn();
  const other = await (await Profile.open(t, world)).logIn();
  await live(mine);
  await live(other);

  const accepted = await file("Accept this");
  await shows(row(mine, accepted));
  await button(row(mine, accepted), "Accept").click();
  await shows(mine.locator("#ask-confirm", { hasText: "with 1 open issue?" }));
  await mine.locator("#ask-confirm [data-yes]").click();
  await reaches(accepted, "done");
  await shows(row(other, accepted).getByText(/^Accepted by/));

  const cancelled = await file("Cancel this");
  await row(other, cancelled).hover();
  await button(row(mine, cancelled), "Cancel").click();
  await mine.locator("#ask-confirm [data-yes]").click();
  await reaches(cancelled, "cancelled");
  await shows(other.locator("#needs li.resolved").getByText(/^Cancelled by another browser, \d\d:\d\d\.$/));

  const fixed = await file("Send this back");
  await button(row(mine, fixed), "What to fix").click();
  const dialog = mine.locator("#ask-review-fix");
  await shows(dialog.getByText(`belay review answer ${fixed} --fix 'what to fix'`));
  await button(dialog, "Send it back").click();
  assert.equal((await readTask(world, fixed)).phase, "needs_attention", "nothing is sent without a text");
  await dialog.locator("textarea").fill("Say hello");
  await checkAccessibility(mine, "#ask-review-fix");
  await button(dialog, "Send it back").click();
  await reaches(fixed, "done");
  await shows(row(mine, fixed).getByText("Approved by Codex after 2 rounds."));
  const { decisions } = await readTask(world, fixed);
  assert.equal(decisions.at(-1).what, "asked for a fix: Say hello");
});

test("rows are reached, resumed and given up by keyboard", async (t) => {
  const profile = await Profile.open(t, world);
  const page = await profile.logIn();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await live(page);
  const id = await file("By keyboard");
  await shows(button(row(page, id), "Cancel"));
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("href"));
  for (let count = 0; count < 20 && (await focused()) !== `/reviews/${id}`; count++) await page.keyboard.press("j");
  assert.equal(await focused(), `/reviews/${id}`);
  await page.keyboard.press("c");
  await eventually("copied", async () => (await page.evaluate(() => navigator.clipboard.readText())) === `belay review show ${id}`);
  await page.keyboard.press("Shift+K");
  await shows(page.locator("#ask-confirm", { hasText: "Cancel this task?" }));
  await page.keyboard.press("Escape");
  await page.keyboard.press("r");
  await reaches(id, "done");
});

test("a decision that another one has overtaken is refused, and nothing changes", async (t) => {
  const profile = await Profile.open(t, world);
  profile.tolerated.push(/status of 4\d\d/);
  const page = await profile.logIn();
  const id = await file("Twice");
  await live(page);
  await button(row(page, id), "What to fix").click();
  const dialog = page.locator("#ask-review-fix");
  await dialog.locator("textarea").fill("Too late");
  const hold = join(world.dir, "home/hold");
  await writeFile(hold, "");
  t.after(() => rm(hold, { force: true }));
  assert.equal((await world.run(["review", "resume", id, "--rounds", "2"])).code, 0);
  await button(dialog, "Send it back").click();
  assert.match((await answer(dialog, "bad")) ?? "", /^Not done: the task has not ended/);
  assert.equal(await dialog.locator("textarea").inputValue(), "Too late", "what was typed stays");
  await rm(hold);
  await reaches(id, "done");
});

for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
  test(`accessible in ${colorScheme}, at every width`, async (t) => {
    const id = await file(`Look at this in ${colorScheme}`);
    await reaches(id, "needs_attention");
    const page = await (await Profile.open(t, world, { colorScheme })).logIn();
    for (const width of [1440, 1024, 768, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto("/");
      await shows(row(page, id));
      await checkAccessibility(page, `overview at ${width} px`);
      const sideways = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      assert.equal(sideways, false, `the page scrolls sideways at ${width} px`);
    }
  });
}

test("without JavaScript and login, the row is complete and decides nothing", async (t) => {
  const id = await file("Only to read");
  await reaches(id, "needs_attention");
  const page = await (await Profile.open(t, world, { javaScriptEnabled: false })).tab("/");
  await shows(row(page, id).getByText("Issues are open after the only round."));
  assert.equal(await button(row(page, id), "Give it 1 more round").isDisabled(), true);
  await row(page, id).getByRole("link", { name: "Only to read" }).click();
  await page.waitForURL(`**/reviews/${id}`);
});

// Last, because the reviewer approves what the project has from here on.
test("a result is looked at, landed, and gone from the list", async (t) => {
  const page = await (await Profile.open(t, world)).logIn();
  const id = await file("Land a greeting");
  await live(page);
  await button(row(page, id), "Give it 1 more round").click();
  await shows(row(page, id).getByText("Finished"));
  await row(page, id).getByRole("link", { name: "Diff" }).click();
  await shows(page.getByText("+Hello, world"));
  await page.goBack();
  await live(page);
  await button(row(page, id), "Land").click();
  await page.locator("#ask-confirm [data-yes]").click();
  await eventually("the result is merged", async () => (await readTask(world, id)).landed);
  await page.mouse.move(0, 0);
  await disappears(row(page, id));
  await shows(page.locator("#needs footer").getByText("you landed Land a greeting"));
  assert.equal(await readFile(join(world.project("shop"), "greeting.txt"), "utf8"), "Hello, world\n");
});
