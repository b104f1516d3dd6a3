// The guided trial and the audit, started from the pages.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Profile, button, live, shows } from "../support/browser.js";
import { World, eventually } from "../support/world.js";

/** @type {World} */
let world;

before(async () => {
  world = await World.start();
});
after(() => world.stop());

test("the guided trial loops, is held, and is removed with one click", async (t) => {
  const profile = await Profile.open(t, world);
  // The fragment of the landing page is gone.
  profile.tolerated.push(/status of 404/);
  const page = await profile.logIn();
  await live(page);
  await button(page, "Start the guided trial").click();
  await shows(page.locator("#needs li").filter({ hasText: "Held" }));
  const spent = JSON.parse((await world.get("/api/v1/overview")).body).today.spent;
  assert.equal(spent.cost_micros ?? 0, 0, "the trial counts in no figure");
  await page.goto("/");
  await button(page, "Remove the trial").click();
  await eventually("removed", async () => (await world.json(["sessions"])).sessions.length === 0);
});

test("an audit is started from the history page, and its line appears when it is done", async (t) => {
  const page = await (await Profile.open(t, world)).logIn();
  await page.goto("/history");
  await live(page);
  await button(page, "Start the audit").click();
  await shows(page.locator("#audits tbody tr"));
  assert.match((await page.locator("#audits tbody tr").first().textContent()) ?? "", /30 days|since/);
});
