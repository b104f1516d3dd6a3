// Without JavaScript the pages are complete, and read-only unless logged in.
import assert from "node:assert/strict";
import { after, before, test } from "../support/test.js";
import { Profile, need, shows, working } from "../support/browser.js";
import { PAGES, playedWorld } from "../support/scene.js";

/** @type {import("../support/world.js").World} */
let world;
/** @type {Awaited<ReturnType<typeof playedWorld>>["agents"]} */
let agents;

before(async () => {
  ({ world, agents } = await playedWorld());
});
after(() => world.stop());

test("every page is complete", async (t) => {
  const page = await (await Profile.open(t, world, { javaScriptEnabled: false })).tab();
  await shows(need(page, agents.cart).getByText("The same edits of one file were repeated"));
  await shows(working(page, agents.docs));
  // Chromium does not render it while DevTools switch scripts off.
  assert.match((await page.locator("#live noscript").innerHTML()), /As of now/);
  for (const path of PAGES) {
    const response = await page.goto(path);
    assert.equal(response?.status(), 200, path);
    await shows(page.locator("h1"));
    await shows(page.locator("nav#pages a").first());
  }
  await page.goto(`/sessions/${agents.cart.key}`);
  await shows(page.locator("#events").getByText("npm test").first());
  await shows(page.locator("#shape svg").first());
});

test("the events of a session are searched by a form", async (t) => {
  const page = await (await Profile.open(t, world, { javaScriptEnabled: false })).tab(`/sessions/${agents.cart.key}`);
  await page.getByLabel("Search all events").fill("roundHalfUp");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=roundHalfUp/);
  await shows(page.locator("#events tbody tr").filter({ hasText: "roundHalfUp" }));
});

test("nothing can be decided without login", async (t) => {
  const page = await (await Profile.open(t, world, { javaScriptEnabled: false })).tab("/");
  for (const path of PAGES) {
    await page.goto(path);
    assert.equal(await page.locator("form[data-post] button:not([data-copy]):not(:disabled)").count(), 0, path);
  }
});
