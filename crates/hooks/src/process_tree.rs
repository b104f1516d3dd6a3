//! Processes and their ancestors, and the agents among them.

use belay_agents::{AGENTS, AgentSpec};

/// Maximum number of processes in a chain of ancestors.
const MAX_ANCESTORS: usize = 64;

/// Arguments of Belay before and with its command.
const MAX_GLOBAL_ARGS: usize = 6;

/// Interpreters that run an agent's script.
const INTERPRETERS: &[&str] = &["node", "bun", "deno", "python", "python3"];

/// One process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    /// The name of the executable, as the system shows it.
    pub name: String,
    pub args: Vec<String>,
    /// The controlling terminal, if there is one.
    pub terminal: Option<String>,
}

impl Process {
    /// Whether this is the program, or an interpreter that runs it as a script.
    pub(crate) fn runs(&self, program: &str) -> bool {
        let script = self.args.get(1).map(|arg| program_name(arg));
        self.name == program || script == Some(program)
    }

    /// Whether this is a Belay process that runs agents and checks of its own accord: `belay serve` or `belay exec`.
    pub fn is_belay_driver(&self) -> bool {
        let program = self.args.first().map_or("", |arg| program_name(arg));
        let is_command = |arg: &String| ["serve", "exec"].contains(&arg.as_str());
        (self.name == "belay" || program == "belay") && self.args.iter().skip(1).take(MAX_GLOBAL_ARGS).any(is_command)
    }

    /// The agent that this process runs: by its own name, or by its script if it is an interpreter.
    pub fn agent(&self) -> Option<&'static AgentSpec> {
        let program = self.args.first().map_or("", |arg| program_name(arg));
        let is_interpreter = INTERPRETERS.contains(&program) || INTERPRETERS.contains(&self.name.as_str());
        let script = self.args.iter().skip(1).find(|arg| !arg.starts_with('-')).filter(|_| is_interpreter);
        let script = script.map_or("", |arg| program_name(arg));
        let names = [self.name.as_str(), program, script];
        AGENTS.iter().copied().find(|agent| names.contains(&agent.executable))
    }
}

/// The file name of a program or script without its directory and extension.
fn program_name(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path).trim_start_matches('-');
    name.split_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
}

/// A process and its ancestors, nearest first.
pub fn ancestors(pid: u32) -> impl Iterator<Item = Process> {
    std::iter::successors(read(pid), |process| read(process.parent)).take(MAX_ANCESTORS)
}

#[cfg(target_os = "linux")]
fn read(pid: u32) -> Option<Process> {
    if pid <= 1 {
        return None;
    }
    let folder = std::path::PathBuf::from(format!("/proc/{pid}"));
    let stat = std::fs::read_to_string(folder.join("stat")).ok()?;
    // `pid (name) state parent group session terminal ...`; the name may hold anything.
    let (head, tail) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let mut fields = tail.split_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    let terminal = fields.nth(2).filter(|terminal| *terminal != "0").map(str::to_owned);
    let args = std::fs::read(folder.join("cmdline")).unwrap_or_default();
    let args = args.strip_suffix(b"\0").unwrap_or(&args).split(|byte| *byte == 0);
    let args = args.map(|arg| String::from_utf8_lossy(arg).into_owned()).collect();
    Some(Process { pid, parent, name, args, terminal })
}

#[cfg(not(target_os = "linux"))]
fn read(pid: u32) -> Option<Process> {
    if pid <= 1 {
        return None;
    }
    let mut ps = std::process::Command::new("ps");
    ps.args(["-o", "ppid=,tty=,args=", "-p", &pid.to_string()]);
    let output = ps.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut fields = text.split_whitespace().map(str::to_owned);
    let parent = fields.next()?.parse().ok()?;
    // `ps` prints question marks for a process without a terminal.
    let terminal = fields.next().filter(|terminal| !terminal.starts_with('?'));
    let args: Vec<String> = fields.collect();
    let name = args.first()?.rsplit('/').next()?.trim_start_matches('-').to_owned();
    Some(Process { pid, parent, name, args, terminal })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(name: &str, args: &[&str]) -> Process {
        Process { name: name.to_owned(), args: args.iter().map(ToString::to_string).collect(), ..Process::default() }
    }

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
            assert_eq!(process(name, args).agent().map(|agent| agent.id), agent, "{args:?}");
        }
    }

    #[test]
    fn reads_this_process_and_its_ancestors() {
        let found: Vec<Process> = ancestors(std::process::id()).collect();
        assert_eq!(found[0].pid, std::process::id());
        assert!(!found[0].args.is_empty() && found[0].args.iter().all(|arg| !arg.is_empty()), "{found:?}");
        assert!(found.windows(2).all(|pair| pair[0].parent == pair[1].pid), "{found:?}");
    }
}
