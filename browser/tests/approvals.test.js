// The agent's own permission prompts, answered in the overview.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Agent } from "../support/agent.js";
import { Profile, button, disappears, live, need, shows } from "../support/browser.js";
import { World } from "../support/world.js";

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
