// A home in which much has happened: every page has something to show.
import { Agent } from "./agent.js";

/** The pages of the scene. */
export const PAGES = ["/", "/sessions/claude-code:cart", "/sessions/claude-code:docs", "/incidents", "/incidents?state=closed", "/history", "/spend", "/settings"];

/** @param {import("./world.js").World} world */
export async function play(world) {
  const cart = await Agent.start(world, "cart", { prompt: "Fix the discount in the cart" });
  for (const command of ["git status", "cat src/cart.js", "npm test -- cart"]) await cart.call(command);
  await cart.loop("npm test");

  const docs = await Agent.start(world, "docs", { prompt: "Describe the new flags", project: "blog" });
  for (const command of ["ls docs", "cat docs/flags.md", "git log --oneline"]) await docs.call(command);

  const push = await Agent.start(world, "push", { prompt: "Release 1.4" });
  await push.hook("PermissionRequest", { tool_name: "Bash", tool_input: { command: "git push origin v1.4" } });

  const column = await Agent.start(world, "column", { prompt: "Rename the column", project: "blog" });
  await column.finish("Both work. Should I rename the column or add a new one?");

  const done = await Agent.start(world, "done", { prompt: "Update the dependencies" });
  await done.call("npm update");
  await done.finish("All dependencies are up to date.");

  const closed = await Agent.start(world, "closed", { prompt: "Build the image" });
  await closed.loop("docker build .");
  await world.run(["resume", closed.key, "-m", "The daemon runs now"]);
  return { cart, docs, push, column, done, closed };
}
