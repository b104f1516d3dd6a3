//! A process with all its ancestors, and the agents among them.

use belay_agents::AgentSpec;
use belay_agents::command_line::{agent_of, program_name};
use belay_config::EnvSnapshot;
use belay_core::Excerpt;
use belay_core::event::Caller;
use belay_process::Process;

/// Maximum number of processes in a chain. Shells nest a few dozen deep; reading this many takes milliseconds.
const MAX_CHAIN: usize = 1024;

/// How often a parent may exit while the chain is read.
const MAX_REREADS: usize = 16;

/// How many processes and how many bytes of each command line a description contains.
const MAX_DESCRIBED: usize = 16;
const MAX_COMMAND_BYTES: usize = 120;

/// Global options of Belay that take a value.
const OPTIONS_WITH_VALUE: &[&str] = &["--home", "--user-config", "--runtime-dir", "--set"];

/// Commands of Belay that run agents and checks.
const DRIVER_COMMANDS: &[&str] = &["serve", "exec", "run", "start"];

/// Ends the chain in tests, which an agent may run. Release builds ignore it.
const TEST_ROOT: &str = "__BELAY_TEST_PROCESS_ROOT";

/// Whether this is a Belay process that runs agents and checks. The agent may be a program that Belay does not know.
fn is_belay_driver(process: &Process) -> bool {
    let program = process.args.first().map_or("", |arg| program_name(arg));
    let mut args = process.args.iter().skip(1).map(String::as_str);
    let command = loop {
        match args.next() {
            Some(option) if OPTIONS_WITH_VALUE.contains(&option) => drop(args.next()),
            Some(option) if option.starts_with('-') => {}
            command => break command,
        }
    };
    (process.name == "belay" || program == "belay") && command.is_some_and(|name| DRIVER_COMMANDS.contains(&name))
}

/// The agent that a process runs.
fn agent(process: &Process) -> Option<&'static AgentSpec> {
    agent_of(&process.name, &process.args)
}

/// A process and all its ancestors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessChain {
    /// Nearest first.
    pub processes: Vec<Process>,
    pub end: ChainEnd,
}

/// Where a chain of ancestors ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// At the first process of the system or container.
    Complete,
    /// After 1,024 processes: there are more.
    TooLong,
    /// At a process that cannot be read, such as one that the system hides.
    Unreadable(u32),
}

impl ProcessChain {
    /// `env` is the environment of this process.
    pub fn of_process(pid: u32, env: &EnvSnapshot) -> Self {
        let mut chain = Self::read_with(pid, Process::read);
        let root = env.text(TEST_ROOT).filter(|_| cfg!(debug_assertions)).and_then(|pid| pid.parse().ok());
        if let Some(at) = chain.processes.iter().position(|process| Some(process.pid) == root) {
            chain.processes.truncate(at);
            chain.end = ChainEnd::Complete;
        }
        chain
    }

    fn read_with(pid: u32, read: impl Fn(u32) -> Option<Process>) -> Self {
        let mut processes: Vec<Process> = Vec::new();
        let (mut next, mut rereads) = (pid, 0);
        let end = loop {
            // A process without a parent, or below one of another container.
            if next == 0 {
                break ChainEnd::Complete;
            }
            if processes.len() == MAX_CHAIN {
                break ChainEnd::TooLong;
            }
            match read(next) {
                Some(process) => {
                    next = process.parent;
                    processes.push(process);
                }
                None if next == 1 => break ChainEnd::Complete,
                // If the parent has just exited, the child has another one by now.
                None => match processes.last().and_then(|child| read(child.pid)) {
                    Some(child) if child.parent != next && rereads < MAX_REREADS => {
                        next = child.parent;
                        rereads += 1;
                    }
                    _ => break ChainEnd::Unreadable(next),
                },
            }
        };
        Self { processes, end }
    }

    /// The agents and the drivers of Belay above the first process, nearest first.
    pub fn drivers(&self) -> impl Iterator<Item = &Process> {
        // The first process is Belay, whatever its file is called.
        self.processes.iter().skip(1).filter(|process| agent(process).is_some() || is_belay_driver(process))
    }

    /// The nearest agent, such as `claude, pid 812`. Otherwise the process of Belay that runs an unknown program or a
    /// gate, which executes what an agent wrote.
    pub fn agent(&self) -> Option<String> {
        let agent = self.drivers().find_map(|process| Some((agent(process)?.executable, process.pid)));
        let agent = agent.map(|(name, pid)| format!("{name}, pid {pid}"));
        agent.or_else(|| self.drivers().next().map(|driver| format!("a program that Belay runs, pid {}", driver.pid)))
    }

    /// Whether the first process has a terminal that no agent among its ancestors uses.
    pub fn has_own_terminal(&self) -> bool {
        let own = self.processes.first().and_then(|process| process.terminal.as_deref());
        // Nobody types below so many processes, and an agent above them may use this terminal.
        let is_deep = self.end == ChainEnd::TooLong;
        own.is_some() && !is_deep && self.drivers().all(|driver| driver.terminal.as_deref() != own)
    }

    /// The nearest agent, otherwise why one may be among the ancestors that are not known.
    pub fn suspect(&self) -> Option<String> {
        self.agent().or_else(|| (self.end != ChainEnd::Complete).then(|| self.end.to_string()))
    }

    /// For the event of a decision.
    pub fn to_caller(&self) -> Caller {
        Caller { agent: self.suspect().as_deref().map(Excerpt::new), processes: self.describe() }
    }

    /// The processes as pid and command line, redacted.
    pub fn describe(&self) -> Excerpt {
        let commands = self.processes.iter().take(MAX_DESCRIBED).map(|process| {
            let command = if process.args.is_empty() { process.name.clone() } else { process.args.join(" ") };
            let command = Excerpt::with_limit(&command, MAX_COMMAND_BYTES);
            format!("{} {}", process.pid, command.as_str().replace('\n', " "))
        });
        Excerpt::new(&commands.collect::<Vec<_>>().join(" < "))
    }
}

impl std::fmt::Display for ChainEnd {
    /// Why the chain is not complete.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Complete => f.write_str("all its ancestors are known"),
            Self::TooLong => write!(f, "it has more than {MAX_CHAIN} ancestors"),
            Self::Unreadable(pid) => write!(f, "its ancestor {pid} cannot be read"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(name: &str, args: &[&str]) -> Process {
        Process { name: name.to_owned(), args: args.iter().map(ToString::to_string).collect(), ..Process::default() }
    }

    #[test]
    fn belay_commands_that_run_programs_are_drivers() {
        for (args, is_driver) in [
            (&["belay", "run", "./my-agent"][..], true),
            (&["/usr/bin/belay", "--home", "/h", "--set", "a=b", "--user-config", "/c", "--json", "run", "x"], true),
            (&["belay", "exec", "codex", "hi"], true),
            (&["belay", "serve"], true),
            (&["belay", "review", "start", "Go"], false),
            (&["belay", "--home", "run", "show", "serve"], false),
            (&["cargo", "run"], false),
        ] {
            assert_eq!(is_belay_driver(&process("", args)), is_driver, "{args:?}");
        }
    }

    /// Processes 1 to `count`, each the child of the one before; the first is an agent.
    fn deep(count: u32) -> ProcessChain {
        ProcessChain::read_with(count, |pid| {
            let name = if pid == 1 { "claude" } else { "sh" };
            Some(Process { pid, parent: pid - 1, ..process(name, &[name]) })
        })
    }

    #[test]
    fn a_long_chain_is_read_to_its_agent_and_a_longer_one_is_incomplete() {
        for count in [2, 70, 500, 1024] {
            let chain = deep(count);
            assert_eq!((chain.end, chain.agent().as_deref()), (ChainEnd::Complete, Some("claude, pid 1")), "{count}");
        }
        for count in [1025, 5000] {
            let chain = deep(count);
            assert_eq!((chain.end, chain.agent(), chain.processes.len()), (ChainEnd::TooLong, None, 1024), "{count}");
        }
    }

    #[test]
    fn an_ancestor_that_cannot_be_read_makes_the_chain_incomplete() {
        let hidden = |pid: u32| (pid > 5).then(|| Process { pid, parent: pid - 1, ..process("sh", &["sh"]) });
        let chain = ProcessChain::read_with(8, hidden);
        assert_eq!((chain.processes.len(), chain.end), (3, ChainEnd::Unreadable(5)));
        let first_hidden = |pid: u32| (pid > 1).then(|| Process { pid, parent: pid - 1, ..process("sh", &["sh"]) });
        assert_eq!(ProcessChain::read_with(8, first_hidden).end, ChainEnd::Complete);
    }

    #[test]
    fn a_parent_that_exits_meanwhile_is_replaced() {
        let reads = std::cell::Cell::new(0);
        let chain = ProcessChain::read_with(8, |pid| {
            reads.set(reads.get() + 1);
            let parent = if pid == 8 && reads.get() > 1 { 1 } else { pid - 1 };
            (pid != 7).then(|| Process { pid, parent, ..process("sh", &["sh"]) })
        });
        let pids: Vec<u32> = chain.processes.iter().map(|process| process.pid).collect();
        assert_eq!((pids, chain.end), (vec![8, 1], ChainEnd::Complete));
    }

    #[test]
    fn reads_this_process_and_its_ancestors() {
        let found = ProcessChain::of_process(std::process::id(), &EnvSnapshot::default()).processes;
        assert_eq!(found[0].pid, std::process::id());
        assert!(!found[0].args.is_empty() && found[0].args.iter().all(|arg| !arg.is_empty()), "{found:?}");
        assert!(found.windows(2).all(|pair| pair[0].parent == pair[1].pid), "{found:?}");
    }
}
