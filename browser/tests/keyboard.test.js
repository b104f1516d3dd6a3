// Everything works without a pointer.
import assert from "node:assert/strict";
import { after, before, test } from "../support/test.js";
import { Agent } from "../support/agent.js";
import { Profile, disappears, live, need, shows } from "../support/browser.js";
import { World, eventually } from "../support/world.js";

/** @type {World} */
let world;
/** @type {Agent[]} */
const agents = [];

before(async () => {
  world = await World.start();
  for (const id of ["key-a", "key-b", "key-c", "key-d"]) {
    const agent = await Agent.start(world, id);
    await agent.loop();
    agents.push(agent);
  }
});
after(() => world.stop());

/**
 * The address of the link in focus.
 * @param {import("playwright-core").Page} page
 */
const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute("href"));

/**
 * Presses Tab until an element has the focus.
 * @param {import("playwright-core").Page} page
 * @param {string} selector
 */
async function tabTo(page, selector) {
  for (let count = 0; count < 80; count++) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
  }
  assert.fail(`Tab does not reach ${selector}`);
}

/**
 * Two keys, the second within a second of the first also on a busy machine: it does not wait until the first is handled.
 * @param {import("playwright-core").Page} page
 * @param {string} first
 * @param {string} second
 */
const sequence = (page, first, second) => Promise.all([page.keyboard.press(first), page.keyboard.press(second)]);

test("a journey: skip the navigation, move, open a session, resume", async (t) => {
  const [first, second] = agents;
  assert.ok(first && second);
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);

  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "#main", "the first stop skips the navigation");
  await shows(page.locator("a.skip:focus"));

  await page.keyboard.press("j");
  assert.equal(await focused(page), `/sessions/${first.key}`);
  await page.keyboard.press("j");
  assert.equal(await focused(page), `/sessions/${second.key}`);
  await page.keyboard.press("k");
  assert.equal(await focused(page), `/sessions/${first.key}`);

  await page.keyboard.press("Enter");
  await page.waitForURL(`**/sessions/${first.key}`);
  await sequence(page, "g", "o");
  await page.waitForURL((url) => url.pathname === "/");
  await live(page);

  // The dialog keeps the focus, and gives it back.
  await page.keyboard.press("j");
  await page.keyboard.press("r");
  const dialog = page.locator("#ask-resume");
  await shows(dialog);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  assert.equal((await first.ask("ls")).stopped, true);
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.keyboard.press("r");
  await tabTo(page, "#ask-resume textarea");
  await page.keyboard.type("jk? are only letters here");
  await tabTo(page, "#ask-resume button[value=resume]");
  await page.keyboard.press("Enter");
  await disappears(need(page, first));
  assert.match((await first.ask("ls")).reason, /says: jk\? are only letters here/);
  assert.equal((await first.ask("ls")).allowed, true);
});

test("the picture and the events of a session are read by keys", async (t) => {
  const agent = await Agent.start(world, "key-reader");
  for (const command of ["echo one", "echo two", "echo three"]) await agent.call(command);
  const page = await (await Profile.open(t, world)).tab(`/sessions/${agent.key}`);
  await live(page);
  await tabTo(page, "[data-calls]");
  const told = page.locator("#call");
  await page.keyboard.press("Home");
  await shows(told.getByText("echo one"));
  await page.keyboard.press("ArrowRight");
  await shows(told.getByText("echo two"));
  await page.keyboard.press("End");
  await shows(told.getByText("echo three"));
  await page.keyboard.press("/");
  await page.keyboard.type("echo two");
  await eventually("only what was searched", async () => !(await page.locator("#events tbody").textContent())?.includes("echo three"));
  await page.keyboard.press("Escape");
  await sequence(page, "g", "s");
  await page.waitForURL("**/spend");
});

test("rows are acknowledged and killed by keys", async (t) => {
  const agent = agents[1];
  assert.ok(agent);
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);
  await need(page, agent).locator("h3 a").focus();
  await page.keyboard.press("a");
  await shows(need(page, agent).getByText("acknowledged"));
  await need(page, agent).locator("h3 a").focus();
  await page.keyboard.press("Shift+K");
  await shows(page.locator("#ask-kill"));
  await tabTo(page, "#ask-kill button[value=kill]");
  await page.keyboard.press("Enter");
  await eventually("killed", async () => /killed/.test((await agent.ask("ls")).reason));
});

test("incidents are selected and resumed by keys", async (t) => {
  const page = await (await Profile.open(t, world)).logIn();
  await page.goto("/incidents");
  await live(page);
  for (const agent of agents.slice(2)) {
    await page.locator("#inbox li").filter({ hasText: agent.id }).locator("a").focus();
    await page.keyboard.press("x");
  }
  await shows(page.getByText("2 selected"));
  await page.locator("#bulk button[value=resume]").focus();
  await page.keyboard.press("Enter");
  for (const agent of agents.slice(2)) await eventually("resumed", async () => (await agent.ask("ls")).allowed);
});

test("search, help, and Esc", async (t) => {
  const page = await (await Profile.open(t, world)).tab();
  await live(page);
  await page.keyboard.press("/");
  await page.keyboard.type("key-d");
  assert.equal(await page.locator("#search").inputValue(), "key-d");
  const visible = page.locator("[data-row]:visible");
  await eventually("filtered", async () => (await visible.count()) <= 1);
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await shows(page.locator("#keys"));
  await page.keyboard.press("Escape");
  await page.locator("#keys").waitFor({ state: "hidden" });
});

test("single keys can be switched off", async (t) => {
  const page = await (await Profile.open(t, world)).tab("/settings");
  const setting = page.getByLabel("Single-key shortcuts");
  await setting.uncheck();
  await page.goto("/");
  await live(page);
  for (const key of ["j", "?", "r", "/"]) await page.keyboard.press(key);
  assert.equal(await page.locator("dialog[open]").count(), 0);
  assert.equal(await page.evaluate(() => document.activeElement === document.body), true);
  await page.goto("/settings");
  assert.equal(await setting.isChecked(), false, "it is kept");
  await setting.check();
  await page.keyboard.press("?");
  await shows(page.locator("#keys"));
});
