// The guided trial, started from the landing page.
import assert from "node:assert/strict";
import { after, before, test } from "../support/test.js";
import { Profile, button, live, shows } from "../support/browser.js";
import { World, eventually } from "../support/world.js";

/** @type {World} */
let world;

before(async () => {
  world = await World.start();
});
after(() => world.stop());

test("the guided trial loops, is held, and is removed with one click", async (t) => {
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);
  await button(page, "Start the guided trial").click();
  await shows(page.locator("#needs li").filter({ hasText: "Held" }));
  const spent = JSON.parse((await world.get("/api/v1/overview")).body).today.spent;
  assert.equal(spent.cost_micros ?? 0, 0, "the trial counts in no figure");
  await page.goto("/");
  await button(page, "Remove the trial").click();
  await eventually("removed", async () => (await world.json(["sessions"])).sessions.length === 0);
});
