// Settings are written by the same writer as `belay config set`.
import assert from "node:assert/strict";
import { after, before, test } from "../support/test.js";
import { Agent } from "../support/agent.js";
import { Profile, answer, button, shows } from "../support/browser.js";
import { World, eventually } from "../support/world.js";

/** @type {World} */
let world;

before(async () => {
  world = await World.start();
  await Agent.start(world, "settings");
});
after(() => world.stop());

/**
 * @param {import("playwright-core").Page} page
 * @param {string} key
 */
const setting = (page, key) => page.locator("tr[data-setting]").filter({ has: page.locator("th code", { hasText: new RegExp(`^${key}$`) }) });

test("a value is saved, shown with its source, and taken back", async (t) => {
  const page = await (await Profile.open(t, world)).logIn();
  await page.goto("/settings");
  const row = setting(page, "detect.budget.session_usd");
  await row.locator("input[name=value]").fill("7");
  await button(row, "Save").click();
  await answer(row);
  const read = async () => (await world.run(["config", "get", "detect.budget.session_usd"])).out;
  assert.match(await read(), /7/);
  await page.reload();
  await shows(row.getByText("changed"));
  await shows(row.getByText(/config\.toml:\d+/));
  await button(row, "Use the default").click();
  await eventually("default", async () => !/7/.test(await read()));
});

test("a bad value is refused with the reason, and nothing is written", async (t) => {
  const profile = await Profile.open(t, world);
  profile.tolerated.push(/status of 4\d\d/);
  const page = await profile.logIn();
  await page.goto("/settings");
  const row = setting(page, "detect.budget.session_usd");
  await row.locator("input[name=value]").fill("plenty");
  await button(row, "Save").click();
  assert.match((await answer(row, "bad")) ?? "", /^Not done: .*session_usd/s);
  assert.doesNotMatch((await world.run(["config", "get", "detect.budget.session_usd"])).out, /plenty/);
});

test("settings are searched", async (t) => {
  const page = await (await Profile.open(t, world)).tab("/settings");
  await page.getByLabel("Search settings").fill("hold_timeout");
  await eventually("filtered", async () => (await page.locator("[data-setting]:visible").count()) === 1);
});

test("clearing the history asks first", async (t) => {
  const ended = await Agent.start(world, "ended");
  await ended.hook("SessionEnd", { reason: "exit" });
  const page = await (await Profile.open(t, world)).logIn();
  await page.goto("/settings");
  const form = page.locator('form[action="/history/clear"]');
  await button(form, "Clear history").click();
  const dialog = page.locator("#ask-confirm");
  await shows(dialog.getByText("Clear the history?"));
  const listed = async () => (await world.run(["sessions"])).out.includes(ended.key);
  assert.equal(await listed(), true);
  await button(dialog, "Clear history").click();
  await answer(form);
  assert.equal(await listed(), false);
});
