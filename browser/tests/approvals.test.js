// The agent's own permission prompts, answered in the overview.
import assert from "node:assert/strict";
import { after, before, test } from "../support/test.js";
import { Agent } from "../support/agent.js";
import { Profile, answer, button, disappears, live, need, shows } from "../support/browser.js";
import { World, eventually } from "../support/world.js";

/** @type {World} */
let world;

before(async () => {
  world = await World.start({ settings: ["approvals.enabled=true"] });
  await world.run(["config", "set", "approvals.enabled", "true"]);
  await Agent.start(world, "first");
});
after(() => world.stop());

for (const { label, behavior } of [
  { label: "Allow once", behavior: "allow" },
  { label: "Deny", behavior: "deny" },
]) {
  test(`the agent is told: ${behavior}`, async (t) => {
    const page = await (await Profile.open(t, world)).logIn();
    await live(page);
    const agent = await Agent.start(world, behavior);
    const command = `git push origin ${behavior}`;
    const tool = { tool_name: "Bash", tool_input: { command }, tool_use_id: "p1" };
    await agent.hook("PreToolUse", tool);
    const told = agent.hook("PermissionRequest", tool);
    const row = need(page, agent);
    await shows(row.getByText(command, { exact: true }));
    await button(row, label).click();
    assert.equal((await told)?.hookSpecificOutput?.decision?.behavior, behavior);
    await disappears(row);
  });
}

test("a click meant for the prompt before does not answer the one that replaced it", async (t) => {
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);
  const agent = await Agent.start(world, "replaced");
  const prompt = (/** @type {string} */ command, /** @type {string} */ id) => ({ tool_name: "Bash", tool_input: { command }, tool_use_id: id });
  const [first, second] = [prompt("git status", "r1"), prompt("git push --force", "r2")];
  // Two calls of one response, which ask side by side. The row has the first prompt.
  for (const tool of [first, second]) await agent.hook("PreToolUse", tool);
  const toldFirst = agent.hook("PermissionRequest", first);
  const row = need(page, agent);
  await shows(row.locator("form").getByRole("button", { name: "Allow once" }));
  const toldSecond = agent.hook("PermissionRequest", second);
  await eventually("the second prompt is open", async () => (await world.run(["approvals"])).out.includes("git push --force"));
  // The click follows the change at once, as of a person whose finger was already on its way.
  await row.evaluate((row) => {
    const watch = new MutationObserver(() => {
      const code = row.querySelector(".cmd code");
      const allow = row.querySelector("form button[value=allow]");
      if (code?.textContent !== "git push --force" || !(allow instanceof HTMLElement)) return;
      watch.disconnect();
      allow.click();
    });
    watch.observe(row, { childList: true, characterData: true, subtree: true, attributes: true });
  });
  await agent.hook("PostToolUse", { ...first, tool_response: { stdout: "", stderr: "", interrupted: false } });
  await toldFirst;
  assert.match((await answer(row, "bad")) ?? "", /^This has just changed/);
  await button(row, "Deny").click();
  assert.equal((await toldSecond)?.hookSpecificOutput?.decision?.behavior, "deny");
});

test("all of a long command is on the page, and the buttons follow its end", async (t) => {
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);
  const agent = await Agent.start(world, "long");
  const lines = Array.from({ length: 40 }, (_, line) => `echo ${line} ${"x".repeat(300)}`);
  const command = `${lines.join("\n")}\necho \u202elast`;
  const tool = { tool_name: "Bash", tool_input: { command }, tool_use_id: "l1" };
  await agent.hook("PreToolUse", tool);
  const told = agent.hook("PermissionRequest", tool);
  const row = need(page, agent);
  await shows(button(row, "Allow once"));
  const code = row.locator(".cmd code");
  assert.equal(await code.evaluate((code) => code.textContent), command.replaceAll("\n", "↵\n").replace("\u202e", "\\u{202e}"));
  assert.ok(await code.evaluate((code) => code.scrollHeight <= code.clientHeight + 1 && code.scrollWidth <= code.clientWidth + 1));
  const [text, allow] = [await code.boundingBox(), await button(row, "Allow once").boundingBox()];
  assert.ok(text && allow && allow.y > text.y + text.height - 2 * allow.height, "the button is at the end");
  await button(row, "Deny").click();
  assert.equal((await told)?.hookSpecificOutput?.decision?.behavior, "deny");
});

/** @param {string} command @param {string} id */
const bash = (command, id) => ({ tool_name: "Bash", tool_input: { command }, tool_use_id: id });

/** @param {object} tool A call that was answered in the terminal. */
const result = (tool) => ({ ...tool, tool_response: { stdout: "", stderr: "", interrupted: false } });

/**
 * An agent that asks for permission, and what it is told.
 * @param {string} id
 */
async function asking(id) {
  const agent = await Agent.start(world, id);
  const tool = bash(`git push origin ${id}`, "p1");
  await agent.hook("PreToolUse", tool);
  const told = agent.hook("PermissionRequest", tool);
  await eventually("the prompt is open", async () => (await world.run(["approvals"])).out.includes(`origin ${id}`));
  return { agent, tool, told };
}

/**
 * Clicks "Allow once" of a row as soon as the rows of the list have changed, as of a person whose finger was already on
 * its way to the row that was there. With `subtree`, also as soon as the row itself has changed.
 * @param {import("playwright-core").Page} page
 * @param {Agent} agent
 * @param {{ subtree?: boolean }} [options]
 */
const clickOnceShifted = (page, agent, { subtree = false } = {}) =>
  page.locator("#needs ol[data-linger]").evaluate((list, { link, subtree }) => {
    const watch = new MutationObserver(() => {
      const allow = list.querySelector(`li:has(h3 a[href="${link}"]) form button[value=allow]`);
      if (!(allow instanceof HTMLElement)) return;
      watch.disconnect();
      allow.click();
    });
    watch.observe(list, { childList: true, subtree });
  }, { link: `/sessions/${agent.key}`, subtree });

/**
 * The click was refused, and the row takes the next one.
 * @param {import("playwright-core").Page} page
 * @param {Awaited<ReturnType<typeof asking>>} asked
 */
async function refusedThenDenied(page, { agent, told }) {
  assert.match((await answer(need(page, agent), "bad")) ?? "", /^This has just changed/);
  await button(need(page, agent), "Deny").click();
  assert.equal((await told)?.hookSpecificOutput?.decision?.behavior, "deny");
}

test("a click meant for another row does not answer the one that moved up", async (t) => {
  const [above, below] = [await asking("shift-above"), await asking("shift-below")];
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);
  await shows(button(need(page, below.agent), "Allow once"));
  await clickOnceShifted(page, below.agent);
  await above.agent.hook("PostToolUse", result(above.tool));
  await above.told;
  await refusedThenDenied(page, below);
});

test("rows that move up when a resolved row goes do not take a click at once", async (t) => {
  const [above, below] = [await asking("linger-above"), await asking("linger-below")];
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);
  await need(page, above.agent).hover();
  await above.agent.hook("PostToolUse", result(above.tool));
  await above.told;
  const stays = page.locator("#needs li.resolved");
  await shows(stays);
  await clickOnceShifted(page, below.agent);
  await page.mouse.move(0, 0);
  await disappears(stays);
  await refusedThenDenied(page, below);
});

test("a row that has just appeared does not take a click at once", async (t) => {
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);
  const agent = await Agent.start(world, "appears");
  // On a busy machine, the row is there a moment before its buttons are.
  await clickOnceShifted(page, agent, { subtree: true });
  const tool = bash("git push origin appears", "p1");
  await agent.hook("PreToolUse", tool);
  await refusedThenDenied(page, { agent, tool, told: agent.hook("PermissionRequest", tool) });
});

test("rows that are added below do not hold up a click", async (t) => {
  const above = await asking("steady-above");
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);
  await clickOnceShifted(page, above.agent);
  const below = await asking("steady-below");
  assert.equal((await above.told)?.hookSpecificOutput?.decision?.behavior, "allow");
  await button(need(page, below.agent), "Deny").click();
  await below.told;
});

/**
 * The agent asks for its next call, after the one before has run.
 * @param {Agent} agent
 * @param {ReturnType<typeof bash>} tool
 * @param {ReturnType<typeof bash>} [done]
 */
async function asksNext(agent, tool, done) {
  if (done) await agent.hook("PostToolUse", result(done));
  await agent.hook("PreToolUse", tool);
  return { told: agent.hook("PermissionRequest", tool) };
}

/**
 * Keeps back what the page fetches of its parts, until the result is called.
 * @param {import("playwright-core").Page} page
 */
async function holdRefreshes(page) {
  let release = () => {};
  const released = new Promise((done) => (release = () => done(null)));
  await page.route(/[?&]fragment=/, async (route) => {
    await released;
    await route.fallback();
  });
  return release;
}

test("the answer about a prompt is not shown beside the next one", async (t) => {
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);
  const agent = await Agent.start(world, "next");
  const row = need(page, agent);
  const [first, second, third] = [bash("git status", "n1"), bash("git push --force", "n2"), bash("git fetch", "n3")];
  const one = await asksNext(agent, first);
  await shows(button(row, "Allow once"));

  // The page shows the next prompt before the answer to the first decision is there.
  let two = /** @type {Awaited<ReturnType<typeof asksNext>> | null} */ (null);
  let busy = /** @type {string | null} */ (null);
  let refreshes = await holdRefreshes(page);
  await page.route("**/approvals/*", async (route) => {
    const response = await route.fetch();
    await one.told;
    two = await asksNext(agent, second, first);
    await eventually("the second prompt is open", async () => (await world.run(["approvals"])).out.includes("git push --force"));
    refreshes();
    await shows(row.getByText("git push --force", { exact: true }));
    busy = await row.locator("form").getAttribute("aria-busy");
    await route.fulfill({ response });
  });
  const answered = page.waitForResponse("**/approvals/*");
  await button(row, "Allow once").click();
  await (await answered).finished();
  assert.equal(busy, "true", "the form is busy until the answer is there");
  await row.locator("form:not([aria-busy])").waitFor();
  assert.equal(await row.locator("output.answer").textContent(), "");
  await page.unroute("**/approvals/*");

  // The answer is there before the page shows the next prompt.
  await shows(button(row, "Allow once"));
  refreshes = await holdRefreshes(page);
  await button(row, "Allow once").click();
  await page.locator("#needs output.answer[data-state=ok]").waitFor();
  refreshes();
  await /** @type {Awaited<ReturnType<typeof asksNext>> | null} */ (two)?.told;
  const three = await asksNext(agent, third, second);
  await shows(row.getByText("git fetch", { exact: true }));
  assert.equal(await row.locator("output.answer").textContent(), "");
  await button(row, "Deny").click();
  await three.told;
});

test("a key that is held down answers one prompt", async (t) => {
  const page = await (await Profile.open(t, world)).logIn();
  await live(page);
  const agent = await Agent.start(world, "held-key");
  const row = need(page, agent);
  const [first, second] = [bash("git status", "k1"), bash("git push --force", "k2")];
  const one = await asksNext(agent, first);
  await shows(button(row, "Allow once"));
  await row.locator("h3 a").focus();
  await page.keyboard.down("y");
  assert.equal((await one.told)?.hookSpecificOutput?.decision?.behavior, "allow");
  const two = await asksNext(agent, second, first);
  await shows(row.getByText("git push --force", { exact: true }));
  await shows(button(row, "Deny"));
  // Without a release in between, this is a repetition.
  await page.keyboard.down("y");
  await page.keyboard.up("y");
  await page.keyboard.press("n");
  assert.equal((await two.told)?.hookSpecificOutput?.decision?.behavior, "deny");
});
