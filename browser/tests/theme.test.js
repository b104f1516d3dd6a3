// Light and dark.
import assert from "node:assert/strict";
import { after, before, test } from "../support/test.js";
import { Agent } from "../support/agent.js";
import { Profile, button } from "../support/browser.js";
import { World } from "../support/world.js";

/** @type {World} */
let world;

before(async () => {
  world = await World.start();
  await Agent.start(world, "theme");
});
after(() => world.stop());

/** @param {import("playwright-core").Page} page */
const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

test("pages follow the system until someone chooses, and the choice is in the first byte of the next page", async (t) => {
  const profile = await Profile.open(t, world, { colorScheme: "light" });
  const page = await profile.tab();
  const light = await background(page);
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await background(page);
  assert.notEqual(light, dark);

  await page.emulateMedia({ colorScheme: "light" });
  await button(page, "Switch between light and dark").click();
  assert.equal(await background(page), dark);

  // The server renders the choice: nothing flashes, also without scripts.
  const response = await page.goto("/incidents");
  assert.match((await response?.text()) ?? "", /<html[^>]* data-theme="dark"/);
  assert.equal(await background(page), dark);
  await button(page, "Switch between light and dark").click();
  await page.reload();
  assert.equal(await background(page), light);
});
