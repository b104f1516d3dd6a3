// The inbox: selecting several incidents and deciding about all of them.
import assert from "node:assert/strict";
import { after, before, test } from "../support/test.js";
import { Agent } from "../support/agent.js";
import { Profile, answer, button, disappears, live, need, shows } from "../support/browser.js";
import { World, eventually } from "../support/world.js";

/** @type {World} */
let world;

before(async () => {
  world = await World.start();
});
after(() => world.stop());

/** @param {string[]} ids */
async function held(ids) {
  const agents = [];
  for (const id of ids) {
    const agent = await Agent.start(world, id);
    await agent.loop();
    agents.push(agent);
  }
  return agents;
}

/** @param {import("node:test").TestContext} t */
async function inbox(t) {
  const page = await (await Profile.open(t, world)).logIn();
  await page.goto("/incidents");
  await live(page);
  return page;
}

/**
 * @param {import("playwright-core").Page} page
 * @param {Agent} agent
 */
const row = (page, agent) => page.locator("#inbox li.pick").filter({ hasText: agent.id });

test("several sessions are resumed at once", async (t) => {
  const agents = await held(["bulk-a", "bulk-b"]);
  const page = await inbox(t);
  for (const agent of agents) await row(page, agent).getByRole("checkbox").check();
  await shows(page.getByText("2 selected"));
  await button(page.locator("#bulk"), "Resume").click();
  for (const agent of agents) {
    await eventually("resumed", async () => (await agent.ask("ls")).allowed);
    await shows(page.locator("#inbox").getByText("Closed today"));
  }
  await shows(page.locator("#who tr").filter({ hasText: "resumed" }));
});

test("several sessions are killed at once, after a question", async (t) => {
  const agents = await held(["bulk-c", "bulk-d"]);
  const page = await inbox(t);
  for (const agent of agents) await row(page, agent).getByRole("checkbox").check();
  await button(page.locator("#bulk"), "Kill").click();
  const dialog = page.locator("#ask-confirm");
  await shows(dialog.getByText("Kill the selected sessions?"));
  assert.equal((await world.session(agents[0]?.key ?? "")).state, "paused");
  await button(dialog, "Kill").click();
  for (const agent of agents) {
    await eventually("killed", async () => /killed/.test((await agent.ask("ls")).reason));
  }
});

test("several incidents are acknowledged and archived at once", async (t) => {
  const agents = await held(["bulk-e", "bulk-f"]);
  const page = await inbox(t);
  for (const agent of agents) await row(page, agent).getByRole("checkbox").check();
  await button(page.locator("#bulk"), "Acknowledge").click();
  for (const agent of agents) await disappears(row(page, agent));
  await page.goto("/incidents?state=acknowledged");
  for (const agent of agents) await row(page, agent).getByRole("checkbox").check();
  await button(page.locator("#bulk"), "Archive").click();
  for (const agent of agents) {
    assert.equal((await agent.ask("ls")).stopped, true, "an archived session stays held");
    const archived = async () => {
      const { sessions } = await world.json(["sessions"]);
      return !sessions.some((/** @type {{ session: string }} */ session) => session.session === agent.key);
    };
    await eventually("archived", archived);
  }
});

test("the selected incident is decided in place", async (t) => {
  const [agent] = await held(["single"]);
  assert.ok(agent);
  const page = await inbox(t);
  await row(page, agent).getByRole("link").click();
  const detail = page.locator("#detail");
  await shows(detail.getByText("same call was made 5 times").first());
  await detail.locator("textarea").fill("Look at the Makefile's path");
  const form = detail.locator("form.decide");
  await button(form, "Resume").click();
  await eventually("resumed", async () => (await agent.ask("ls")).allowed);
  await shows(page.locator("#who tr").filter({ hasText: "Look at the Makefile's path" }));
});

test("a decision that someone else was faster with is explained", async (t) => {
  const [agent] = await held(["race"]);
  assert.ok(agent);
  const profile = await Profile.open(t, world);
  profile.tolerated.push(/status of 4\d\d/);
  const page = await profile.logIn();
  await live(page);
  await button(need(page, agent), "Resume").click();
  const dialog = page.locator("#ask-resume");
  assert.equal((await world.run(["kill", agent.key])).code, 0);
  await button(dialog, "Resume").click();
  assert.match((await answer(dialog, "bad")) ?? "", /^Not done: /);
  assert.match((await agent.ask("ls")).reason, /killed/);
});
