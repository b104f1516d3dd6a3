// Review tasks with agents that are small programs: a builder that needs two rounds, and a reviewer that notices.
import { execFileSync } from "node:child_process";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Agent } from "./agent.js";

/** Waits until the test lets it go on, so that a page can be looked at while an agent works. */
const GATE = "while [ -e \"$HOME/hold\" ]; do sleep 0.05; done";

/** Claude Code's headless mode: reads the prompt, writes a file, and answers in its JSON. */
const BUILDER = `#!/bin/sh
cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"0190a1b2-0000-7000-8000-00000000c0de"}'
echo '{"type":"assistant","session_id":"0190a1b2-0000-7000-8000-00000000c0de","message":{"id":"m1","content":[{"type":"text","text":"Writing <b>greeting.txt</b>"}],"usage":{"input_tokens":900,"output_tokens":50}}}'
${GATE}
if [ -e greeting.txt ]; then echo "Hello, world" > greeting.txt; else echo "Goodbye" > greeting.txt; fi
echo '{"type":"result","subtype":"success","is_error":false,"result":"I wrote the greeting.","session_id":"0190a1b2-0000-7000-8000-00000000c0de","total_cost_usd":0.02,"usage":{"input_tokens":900,"output_tokens":50}}'
`;

/** @param {object} verdict As Codex prints its last message. */
const said = (verdict) => JSON.stringify({ type: "item.completed", item: { type: "agent_message", text: JSON.stringify(verdict) } });
const WRONG_GREETING = {
  id: null,
  file: "greeting.txt",
  line: 1,
  claim: "The greeting is wrong <script>alert(1)</script>",
  severity: "major",
  evidence: "cat greeting.txt",
  reason: null,
};

/** Codex's headless mode: a verdict in the schema that Belay asks for. */
const REVIEWER = `#!/bin/sh
cat > /dev/null
echo '{"type":"thread.started","thread_id":"0190a1b2-0000-7000-8000-00000000beef"}'
if grep -q Hello greeting.txt; then cat <<'END'
${said({ status: "done", action: null, issues: [] })}
END
else cat <<'END'
${said({ status: "issues_found", action: null, issues: [WRONG_GREETING] })}
END
fi
echo '{"type":"turn.completed","usage":{"input_tokens":700,"output_tokens":40}}'
`;

/**
 * Puts the agents into a world, with a git repository `shop` that Belay has seen.
 * @param {import("./world.js").World} world
 */
export async function installReviewAgents(world) {
  const home = join(world.dir, "home");
  const config = join(home, ".config/belay");
  await mkdir(config, { recursive: true });
  /** @type {[string, string, string][]} */
  const programs = [
    ["claude-code", "claude", BUILDER],
    ["codex", "codex", REVIEWER],
  ];
  let settings = "";
  for (const [agent, name, script] of programs) {
    const program = join(home, name);
    await writeFile(program, script);
    await chmod(program, 0o755);
    settings += `[agents.${agent}]\nprogram = "${program}"\n`;
  }
  await writeFile(join(config, "config.toml"), settings);
  const git = (/** @type {string[]} */ ...args) =>
    execFileSync("git", ["-c", "user.name=ada", "-c", "user.email=ada@example.com", ...args], { cwd: world.project("shop") });
  git("init", "--quiet", "--initial-branch=main");
  git("config", "user.name", "ada");
  git("config", "user.email", "ada@example.com");
  await writeFile(join(world.project("shop"), "README"), "A shop\n");
  git("add", ".");
  git("commit", "--quiet", "--message", "Start");
  // A project that Belay has seen.
  await Agent.start(world, "seen", { project: "shop" });
}

/**
 * A task, as the API tells it.
 * @param {import("./world.js").World} world
 * @param {string} id
 */
export const readTask = async (world, id) => JSON.parse((await world.get(`/api/v1/reviews/${id}`)).body);
