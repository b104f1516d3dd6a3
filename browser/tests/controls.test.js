// Every control of overview and session page, and what the agent's next call is told.
import assert from "node:assert/strict";
import { after, before, test } from "../support/test.js";
import { Agent } from "../support/agent.js";
import { Profile, answer, button, disappears, live, need, shows, working } from "../support/browser.js";
import { World, eventually } from "../support/world.js";

/** @type {World} */
let world;

before(async () => {
  world = await World.start();
  // Not the landing page, which is replaced by the overview.
  await Agent.start(world, "first");
});
after(() => world.stop());

/**
 * A session that Belay holds because it loops.
 * @param {string} id
 */
async function held(id) {
  const agent = await Agent.start(world, id);
  await agent.loop();
  return agent;
}

/**
 * The overview of a person who is logged in.
 * @param {import("node:test").TestContext} t
 */
async function overview(t) {
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);
  return page;
}

/**
 * The page of a session, and the form that decides about it.
 * @param {import("node:test").TestContext} t
 * @param {Agent} agent
 */
async function decideForm(t, agent) {
  const page = await overview(t);
  await page.goto(`/sessions/${agent.key}`);
  return { page, form: page.locator("#finding form.decide") };
}

test("the overview says who needs a person, why, and offers what resolves it", async (t) => {
  const page = await overview(t);
  const looping = await held("why-loop");
  const asking = await Agent.start(world, "why-permission");
  await asking.hook("PermissionRequest", { tool_name: "Bash", tool_input: { command: "git push --force" } });
  const questioning = await Agent.start(world, "why-question");
  await questioning.finish("I found two ways. Should I rename the column or add a new one?");
  const finished = await Agent.start(world, "why-finished");
  await finished.finish("All tests pass.");

  await shows(need(page, looping).getByText("same call was made 5 times"));
  await shows(button(need(page, looping), "Resume"));
  await shows(button(need(page, looping), "Kill"));
  await shows(need(page, asking).getByText("git push --force"));
  await shows(need(page, asking).getByText("Permission", { exact: true }));
  await shows(need(page, questioning).getByText("Should I rename the column"));
  await shows(need(page, questioning).getByText("Answer in its terminal"));
  await shows(need(page, finished).getByText("All tests pass."));
  await shows(button(need(page, finished), "Mark seen"));
  await eventually("the title counts", async () => /^\d need you · Belay$/.test(await page.title()));
  const order = await page.locator("#needs li h3 a").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  assert.ok(order.indexOf(`/sessions/${looping.key}`) < order.indexOf(`/sessions/${finished.key}`), "longest wait first");
});

test("resume with a note: the agent reads it, then goes on", async (t) => {
  const agent = await held("resume");
  const page = await overview(t);
  await button(need(page, agent), "Resume").click();
  const dialog = page.locator("#ask-resume");
  await dialog.locator("textarea").fill("Write a Makefile first");
  assert.equal(await dialog.locator("[data-mirror-of] code").textContent(), "belay resume claude-code:resume -m 'Write a Makefile first'");
  await button(dialog, "Resume").click();
  await disappears(need(page, agent));
  await shows(working(page, agent));
  // The row says what came of it, until the pointer leaves it.
  const done = page.locator("#needs li.resolved");
  await shows(done);
  await page.mouse.move(0, 0);
  await page.locator("#search").focus();
  await disappears(done);
  assert.match((await agent.ask("make")).reason, /says: Write a Makefile first/);
  assert.equal((await agent.ask("make")).allowed, true);
  const { notes } = JSON.parse((await world.get(`/api/v1/sessions/${agent.key}/notes`)).body);
  assert.match(JSON.stringify(notes), /Write a Makefile first/);
});

test("the agent reads the note of a resume", async (t) => {
  const agent = await held("note");
  const { form } = await decideForm(t, agent);
  await form.locator("textarea").fill("Write a Makefile first");
  await button(form, "Resume").click();
  await eventually("resumed", async () => (await world.session(agent.key)).held === undefined);
  assert.match((await agent.ask("ls")).reason, /says: Write a Makefile first/);
  assert.equal((await agent.ask("ls")).allowed, true, "the note is read once");
});

test("resume only with a changed plan", async (t) => {
  const agent = await held("plan");
  const { form } = await decideForm(t, agent);
  await form.getByLabel("only with a changed plan").check();
  await button(form, "Resume").click();
  await answer(form);
  assert.match((await agent.ask("make")).reason, /changed plan/);
  await agent.hook("UserPromptSubmit", { prompt: "plan: write a Makefile with the target all" });
  assert.equal((await agent.ask("touch Makefile")).allowed, true);
});

test("resume after a cooldown", async (t) => {
  const agent = await held("cooldown");
  const { page, form } = await decideForm(t, agent);
  await form.locator("select[name=cooldown_secs]").selectOption("600");
  await button(form, "Resume").click();
  assert.match((await answer(form)) ?? "", /cooldown/);
  await shows(page.locator("#head").getByText("ends by itself in"));
  assert.match((await agent.ask("make")).reason, /until \d{4}-/);
});

test("an acknowledged session stays held, dimmed", async (t) => {
  const agent = await held("acknowledge");
  const { page, form } = await decideForm(t, agent);
  await button(form, "Acknowledge").click();
  await answer(form);
  await disappears(button(form, "Acknowledge"));
  assert.equal((await agent.ask("make")).stopped, true);
  await page.goto("/");
  await shows(need(page, agent).getByText("acknowledged"));
});

test("an allowed repetition no longer holds the session", async (t) => {
  const agent = await held("allow");
  const { form } = await decideForm(t, agent);
  await button(form, "Allow this").click();
  await answer(form);
  await button(form, "Resume").click();
  await eventually("resumed", async () => (await agent.ask("make")).allowed);
  for (let count = 0; count < 8; count++) {
    await agent.result("make", "Exit code 2\nmake: *** No rule to make target 'all'.  Stop.");
    assert.equal((await agent.ask("make")).allowed, true, `repetition ${count}`);
  }
});

test("a reset discards the evidence", async (t) => {
  const agent = await Agent.start(world, "reset");
  while ((await agent.ask("make")).allowed) await agent.result("make", "Exit code 2\nmake: *** No rule to make target 'all'.  Stop.");
  const { form } = await decideForm(t, agent);
  await button(form, "Reset").click();
  await answer(form);
  assert.equal((await agent.ask("make")).allowed, true);
});

test("an archived session leaves the lists", async (t) => {
  const agent = await held("archive");
  const { page, form } = await decideForm(t, agent);
  await button(form, "Archive").click();
  await answer(form);
  await page.goto("/");
  await shows(page.locator("#needs"));
  assert.equal(await need(page, agent).count(), 0);
  const { sessions } = await world.json(["sessions"]);
  assert.equal(sessions.some((/** @type {{ session: string }} */ session) => session.session === agent.key), false);
});

test("kill asks first, and stops the agent for good", async (t) => {
  const agent = await held("kill");
  const page = await overview(t);
  await button(need(page, agent), "Kill").click();
  const dialog = page.locator("#ask-kill");
  await shows(dialog.getByText("stopped for good"));
  await button(dialog, "Do not kill it").click();
  await dialog.waitFor({ state: "hidden" });
  assert.notEqual((await world.session(agent.key)).state, "killed");

  await button(need(page, agent), "Kill").click();
  await dialog.locator("textarea").fill("There is no Makefile here");
  await button(dialog, "Kill").click();
  await disappears(need(page, agent));
  const reply = await agent.ask("ls");
  assert.deepEqual([reply.stopped, /killed this session/.test(reply.reason)], [true, true], reply.reason);
});

test("a working session is paused from its page", async (t) => {
  const agent = await Agent.start(world, "pause");
  await agent.call("ls");
  const { form } = await decideForm(t, agent);
  await form.locator("textarea").fill("Wait for the review");
  await button(form, "Pause").click();
  await eventually("held", async () => (await agent.ask("ls -l")).stopped);
  await shows(button(form, "Resume"));
});

test("a looping session is paused from the overview before Belay does", async (t) => {
  const agent = await Agent.start(world, "looping");
  while ((await agent.ask("make")).allowed) await agent.result("make", "Exit code 2\nmake: *** No rule to make target 'all'.  Stop.");
  const page = await overview(t);
  const row = need(page, agent);
  await shows(row.getByText("Looping"));
  await button(row, "Pause").click();
  await shows(button(row, "Resume"));
  assert.equal((await agent.ask("ls")).stopped, true);
});

test("opening a finished session marks it as seen", async (t) => {
  const agent = await Agent.start(world, "opened");
  await agent.finish("The parser is fixed.");
  const page = await overview(t);
  await need(page, agent).getByRole("link", { name: "Look" }).click();
  await shows(page.locator("#head"));
  await page.goto("/");
  await disappears(need(page, agent));
  assert.equal((await world.session(agent.key)).status.value, "idle");
});

test("a finished session is marked as seen in the list", async (t) => {
  const agent = await Agent.start(world, "seen");
  await agent.finish("The parser is fixed.");
  const page = await overview(t);
  await button(need(page, agent), "Mark seen").click();
  await disappears(need(page, agent));
  assert.equal((await world.session(agent.key)).status.value, "idle");
});

test("the budget of a working session is set from its page", async (t) => {
  const agent = await Agent.start(world, "budget");
  await agent.call("ls");
  const { page } = await decideForm(t, agent);
  await button(page.locator("#finding"), "Budget").click();
  const dialog = page.locator("#ask-budget");
  await shows(dialog.getByText("Fix the build of budget"));
  await button(dialog, "Leave it").click();
  await dialog.waitFor({ state: "hidden" });
  await button(page.locator("#finding"), "Budget").click();
  await dialog.getByLabel("New total, in dollars").fill("2.5");
  assert.equal(await dialog.locator("[data-mirror-of] code").textContent(), "belay budget claude-code:budget 2.5usd --resume");
  await button(dialog, "Set the budget").click();
  await shows(page.locator("#head").getByText("of $2.50"));
  assert.equal((await world.session(agent.key)).limits.cost_micros, 2_500_000);
});
