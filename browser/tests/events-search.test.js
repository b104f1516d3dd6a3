// The events of a session are searched on the server: all of them, not only those on the screen.
import assert from "node:assert/strict";
import { after, before, test } from "../support/test.js";
import { Profile, live, shows } from "../support/browser.js";
import { Story } from "../support/story.js";
import { World, eventually } from "../support/world.js";

/** @type {World} */
let world;
/** @type {Story} */
let story;

before(async () => {
  world = await World.start();
  story = new Story(world, "claude-code:long", { task: "A long session", project: "shop", model: "claude-sonnet-4-5", ago: 3 * 3600 });
  story.shell("grep -rn NeedleInTheHaystack src", "src/a.ts:1: NeedleInTheHaystack").work(300, 30);
  await story.post();
});
after(() => world.stop());

/** @param {import("playwright-core").Page} page */
const rows = (page) => page.locator("#events tbody tr");

test("text and kind are searched in the whole session, and the address can be shared", async (t) => {
  const profile = await Profile.open(t, world);
  const page = await profile.tab(`/sessions/${story.key}`);
  await live(page);
  assert.equal(await page.getByText("NeedleInTheHaystack").count(), 0, "too old to be on the page");
  const search = page.getByLabel("Search all events");
  await search.pressSequentially("needleinthehaystack");
  await eventually("found", async () => (await rows(page).count()) === 2);
  await shows(page.locator("#events").getByText(/^2 found of [\d,]+ events$/));
  assert.equal(await search.evaluate((field) => field === document.activeElement), true, "the field keeps the focus");
  await page.getByLabel("Kind of event").selectOption("tool_called");
  await eventually("only the call", async () => (await rows(page).count()) === 1);

  const shared = await profile.tab(page.url());
  await shows(rows(shared).filter({ hasText: "grep -rn NeedleInTheHaystack" }));
  assert.equal(await shared.getByLabel("Search all events").inputValue(), "needleinthehaystack");

  await search.fill("there is no such text");
  await shows(page.getByText("No event of this session matches."));
  await search.fill("");
  await page.getByLabel("Kind of event").selectOption("");
  await eventually("everything again", async () => (await rows(page).count()) === 50);
});

test("many matches are paged", async (t) => {
  const page = await (await Profile.open(t, world)).tab(`/sessions/${story.key}?q=git+add&kind=tool_called`);
  const first = await rows(page).first().getAttribute("id");
  assert.equal(await rows(page).count(), 50);
  await page.getByRole("link", { name: "Search older" }).click();
  await page.waitForURL(/before=\d+/);
  assert.notEqual(await rows(page).first().getAttribute("id"), first);
  assert.match((await rows(page).first().textContent()) ?? "", /git add/);
  await page.getByRole("link", { name: "Newest" }).click();
  await page.waitForURL((url) => !url.searchParams.has("before"));
  assert.equal(await rows(page).first().getAttribute("id"), first);
});

test("the API searches, too, and tells where to continue", async () => {
  const get = async (/** @type {string} */ query) => JSON.parse((await world.get(`/api/v1/sessions/${story.key}/events?${query}`)).body);
  const found = await get("q=NeedleInTheHaystack&last=true");
  assert.deepEqual([found.events.length, found.next], [2, null]);
  const some = await get("q=staged&limit=3");
  assert.equal(some.events.length, 3);
  const more = await get(`q=staged&limit=3&after=${some.next}`);
  assert.ok(more.events[0].seq > some.events[2].seq);
});
