// The agent's own permission prompts, answered in the overview.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
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
