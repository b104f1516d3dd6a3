// A file of tests that never ends, for `tests/lifetime.test.js`: a server runs, and a hook waits for a person.
import { Agent } from "./agent.js";
import { test } from "./test.js";
import { World, eventually } from "./world.js";

test("waits for a person", async () => {
  const world = await World.start();
  await world.run(["config", "set", "approvals.enabled", "true"]);
  const agent = await Agent.start(world, "endless");
  const tool = { tool_name: "Bash", tool_input: { command: "git push" }, tool_use_id: "p1" };
  await agent.hook("PreToolUse", tool);
  const answered = agent.hook("PermissionRequest", tool);
  await eventually("the prompt is open", async () => (await world.run(["approvals"])).out.includes("git push"));
  console.log("a hook waits");
  await answered;
});
