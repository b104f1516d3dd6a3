//! Which agent a process runs, by its command line.

use crate::{AGENTS, AgentSpec};

/// Interpreters that run an agent's script.
const INTERPRETERS: &[&str] = &["node", "bun", "deno", "python", "python3"];

/// The agent that a process runs: by the name of its executable, or by its script if that is an interpreter.
pub fn agent_of(executable: &str, args: &[String]) -> Option<&'static AgentSpec> {
    let program = args.first().map_or("", |arg| program_name(arg));
    let is_interpreter = INTERPRETERS.contains(&program) || INTERPRETERS.contains(&executable);
    let script = args.iter().skip(1).find(|arg| !arg.starts_with('-')).filter(|_| is_interpreter);
    let script = script.map_or("", |arg| program_name(arg));
    let names = [executable, program, script];
    AGENTS.iter().copied().find(|agent| names.contains(&agent.executable))
}

/// The file name of a program or script without its directory and extension.
pub fn program_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path).trim_start_matches('-');
    name.split_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_agents_by_program_and_by_script() {
        for (name, args, agent) in [
            ("claude", &["claude", "-p", "hi"][..], Some("claude-code")),
            ("claude", &["/home/ada/.local/bin/claude"], Some("claude-code")),
            ("MainThread", &["node", "/usr/bin/gemini"], Some("gemini")),
            (
                "node",
                &["node", "--max-old-space-size=4096", "/lib/@google/gemini-cli/bundle/gemini.js"],
                Some("gemini"),
            ),
            ("python3", &["/usr/bin/python3", "-m", "aider"], Some("aider")),
            ("codex", &["codex", "app-server"], Some("codex")),
            ("bash", &["bash", "-c", "claude --help"], None),
            ("tmux: server", &["tmux", "new", "-s", "claude"], None),
            ("node", &["node", "server.js", "gemini"], None),
            ("vim", &["vim", "claude"], None),
            ("cursor", &["/usr/share/cursor/cursor"], None),
            ("code", &["/usr/share/code/code", "--type=ptyHost"], None),
        ] {
            let owned: Vec<String> = args.iter().map(ToString::to_string).collect();
            assert_eq!(agent_of(name, &owned).map(|agent| agent.id), agent, "{args:?}");
        }
    }
}
