// Two people, one session: who was faster is told, and nothing that was typed is lost.
import assert from "node:assert/strict";
import { after, before, test } from "../support/test.js";
import { Agent } from "../support/agent.js";
import { Profile, answer, button, disappears, live, need, shows } from "../support/browser.js";
import { World, eventually } from "../support/world.js";

/** @type {World} */
let world;

before(async () => {
  world = await World.start();
  await Agent.start(world, "first");
});
after(() => world.stop());

/** @param {string} id */
async function held(id) {
  const agent = await Agent.start(world, id);
  await agent.loop();
  return agent;
}

test("every browser is told who resolved a row, and how", async (t) => {
  const [browser, terminal] = [await held("in-browser"), await held("in-terminal")];
  const mine = await (await Profile.open(t, world)).logIn();
  const other = await (await Profile.open(t, world)).logIn();
  await live(mine);
  await live(other);
  // A row under the pointer stays.
  await need(other, browser).hover();
  await button(need(mine, browser), "Resume").click();
  await button(mine.locator("#ask-resume"), "Resume").click();
  await shows(other.locator("#needs li.resolved").getByText(/^Resumed by another browser, \d\d:\d\d\.$/));
  await shows(mine.locator("#needs footer").getByText("you resumed Fix the build of in-browser"));
  await shows(other.locator("#needs footer").getByText("another browser resumed Fix the build of in-browser"));

  // So does the row with the focus.
  await need(mine, terminal).locator("h3 a").focus();
  assert.equal((await world.run(["kill", terminal.key, "-m", "enough"])).code, 0);
  await shows(mine.locator("#needs li.resolved").getByText(/^Killed by ada on the command line, \d\d:\d\d\.$/));
  await shows(other.locator("#needs footer").getByText("ada killed Fix the build of in-terminal on the command line"));
});

test("the second decision is refused, and names the first", async (t) => {
  const agent = await held("second");
  const profile = await Profile.open(t, world);
  profile.tolerated.push(/status of 4\d\d/);
  const page = await profile.logIn();
  await live(page);
  await button(need(page, agent), "Resume").click();
  const dialog = page.locator("#ask-resume");
  await dialog.locator("textarea").fill("Too late");
  await world.run(["kill", agent.key]);
  await button(dialog, "Resume").click();
  assert.match((await answer(dialog, "bad")) ?? "", /^Not done: .*killed/);
  assert.equal(await dialog.locator("textarea").inputValue(), "Too late", "the note stays");
});

test("a note that is being typed survives the end of its session", async (t) => {
  const agent = await held("typed");
  const page = await (await Profile.open(t, world)).logIn();
  await page.goto(`/sessions/${agent.key}`);
  await live(page);
  await page.locator("#finding form.decide textarea").fill("Use the other Makefile");
  await world.run(["kill", agent.key]);
  const kept = page.locator("aside.kept");
  await shows(kept.getByText(/^Not sent: ada killed it at \d\d:\d\d\.$/));
  await shows(kept.getByText("Use the other Makefile", { exact: true }));
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await button(kept, "Copy the note").click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "Use the other Makefile");
  await button(kept, "Discard it").click();
  await disappears(kept);
});

test("a note on the page of incidents survives, too, and is not sent to another session", async (t) => {
  const [agent, next] = [await held("inbox-a"), await held("inbox-b")];
  const page = await (await Profile.open(t, world)).logIn();
  await page.goto("/incidents");
  await page.locator("#inbox li").filter({ hasText: agent.id }).locator("a").click();
  await live(page);
  await page.locator("#detail textarea").fill("Only for this one");
  await world.run(["kill", agent.key]);
  const kept = page.locator("aside.kept");
  await shows(kept.getByText(/^Not sent: ada killed it at \d\d:\d\d\.$/));
  await shows(kept.getByText("Only for this one", { exact: true }));
  assert.equal(await page.locator("#detail textarea").count(), 0, "nothing is left to decide");
  assert.equal((await next.ask("ls")).stopped, true);
});

test("a form that still applies keeps what was typed, and says what changed", async (t) => {
  const agent = await held("acknowledged");
  const page = await (await Profile.open(t, world)).logIn();
  await page.goto(`/sessions/${agent.key}`);
  await live(page);
  const form = page.locator("#finding form.decide");
  await form.locator("textarea").fill("Half a note");
  await world.run(["ack", agent.key]);
  await eventually("told", async () => /^changed meanwhile: ada acknowledged it/.test((await form.getAttribute("data-changed")) ?? ""));
  assert.equal(await form.locator("textarea").inputValue(), "Half a note");
  await button(form, "Resume").click();
  await eventually("resumed", async () => (await world.session(agent.key)).held === undefined);
  assert.match((await agent.ask("ls")).reason, /says: Half a note/);
});
