// A session without hooks, seen by the proxy only, that uses up its budget.
import assert from "node:assert/strict";
import { after, before, test } from "../support/test.js";
import { Profile, answer, button, disappears, live, need, shows } from "../support/browser.js";
import { Model, ProxyAgent } from "../support/model.js";
import { World, eventually } from "../support/world.js";

/** Every answer costs about a dollar. */
const SCRIPT = `
[[turn]]
shell = "npm test"
usage = { input = 400000, output = 20000 }
repeat = 100
`;

/** @type {Model} */
let model;
/** @type {World} */
let world;

before(async () => {
  model = await Model.start(SCRIPT);
  world = await World.start({ settings: [`proxy.upstreams.openai.url=${model.url}`, "proxy.hold_timeout=0s"] });
});
after(async () => {
  await world.stop();
  await model.stop();
});

/**
 * A session that has spent its budget of one dollar.
 * @param {string} id
 */
async function overBudget(id) {
  const agent = new ProxyAgent(world, `demo:${id}`);
  assert.equal((await agent.request("first")).status, 200);
  // The proxy answers the agent before it records the request.
  await eventually("the session", async () => (await world.run(["show", agent.key])).code === 0);
  const set = await world.run(["budget", agent.key, "1usd"]);
  assert.equal(set.code, 0, JSON.stringify(set));
  let count = 0;
  await eventually("over budget", async () => (await agent.request(`output ${count++}`)).status === 402);
  return agent;
}

test("a budget is raised with one click, and the next request passes", async (t) => {
  const agent = await overBudget("raise");
  const page = await (await Profile.open(t, world)).logIn();
  const row = need(page, agent.key);
  await shows(row.getByText("Over budget"));
  await shows(row.getByText("of the session's money budget is used"));
  await live(page);
  await button(row, "Raise to").click();
  await disappears(row);
  assert.equal((await agent.request("raised")).status, 200);
});

test("a budget of one's choice", async (t) => {
  const agent = await overBudget("other");
  const page = await (await Profile.open(t, world)).logIn();
  const row = need(page, agent.key);
  await live(page);
  await button(row, "Other").click();
  const dialog = page.locator("#ask-budget");
  await dialog.getByLabel("New total, in dollars").fill("50");
  assert.equal(await dialog.locator("[data-mirror-of] code").textContent(), "belay budget demo:other 50usd --resume");
  await button(dialog, "Set the budget").click();
  await disappears(row);
  assert.equal((await agent.request("raised")).status, 200);
  await page.goto("/spend");
  await shows(page.getByText("gpt-4.1").first());
});

test("a nonsensical budget is refused in place", async (t) => {
  const agent = await overBudget("nonsense");
  const profile = await Profile.open(t, world);
  profile.tolerated.push(/status of 400/);
  const page = await profile.logIn();
  await live(page);
  await button(need(page, agent.key), "Other").click();
  const dialog = page.locator("#ask-budget");
  await dialog.getByLabel("New total, in dollars").fill("1e99");
  await button(dialog, "Set the budget").click();
  assert.match((await answer(dialog, "bad")) ?? "", /not an amount/);
  assert.equal((await agent.request("held")).status, 402);
});
