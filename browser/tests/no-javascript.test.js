// Without JavaScript the pages are complete, and read-only unless logged in.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Profile, need, shows, working } from "../support/browser.js";
import { PAGES, play } from "../support/scene.js";
import { World } from "../support/world.js";

/** @type {World} */
let world;
/** @type {Awaited<ReturnType<typeof play>>} */
let agents;

before(async () => {
  world = await World.start();
  agents = await play(world);
});
after(() => world.stop());

test("every page is complete", async (t) => {
  const page = await (await Profile.open(t, world, { javaScriptEnabled: false })).tab();
  await shows(need(page, agents.cart).getByText("same call was made"));
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

test("nothing can be decided without login", async (t) => {
  const page = await (await Profile.open(t, world, { javaScriptEnabled: false })).tab("/");
  for (const path of PAGES) {
    await page.goto(path);
    assert.equal(await page.locator("form[data-post] button:not([data-copy]):not(:disabled)").count(), 0, path);
  }
});
