//! Who called a command: a person, or an agent among its ancestors.
//!
//! Some commands lift, weaken or end supervision. An agent runs as the same user and can call them, so they refuse if an
//! agent, or a Belay process that runs agents and gates, is among their ancestors, or if an agent's session variable is in
//! the environment. This does not stop an agent that hides
//! its processes; it stops one that follows a message, and it leaves a record.

use belay_agents::AGENTS;
use belay_config::EnvSnapshot;
use belay_core::event::{Caller, OperatorDecision};
use belay_core::{Excerpt, SessionKey};
use belay_hooks::process_tree::{Process, ancestors};
use belay_ipc::{DecideRequest, SessionsRequest};
use clap::Args;

use crate::backend::Backend;
use crate::context::Context;
use crate::error::CommandError;

/// How many processes and how many bytes of each command line are recorded.
const MAX_PROCESSES: usize = 16;
const MAX_COMMAND_BYTES: usize = 120;

/// Ends the walk through the ancestors in tests, which an agent may run. Release builds ignore it.
const TEST_ROOT: &str = "__BELAY_TEST_PROCESS_ROOT";

#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct OperatorArgs {
    /// Confirm that you, not an agent, run this command. Works only outside the agent's terminal; Belay records it and
    /// sends an alert.
    #[arg(long)]
    as_operator: bool,
}

/// The process tree of this command, and the agents in it.
#[derive(Debug)]
pub(crate) struct CallerTree {
    /// This process first.
    processes: Vec<Process>,
    /// Session variables of agents: the agent's id, the variable and the session id.
    variables: Vec<(&'static str, &'static str, String)>,
}

impl CallerTree {
    pub(crate) fn read(env: &EnvSnapshot) -> Self {
        let root = env.text(TEST_ROOT).filter(|_| cfg!(debug_assertions)).and_then(|pid| pid.parse().ok());
        let processes = ancestors(std::process::id()).take_while(|process| Some(process.pid) != root).collect();
        let variables = AGENTS.iter().filter_map(|agent| {
            let variable = agent.session_env?;
            Some((agent.id, variable, env.text(variable)?.to_owned()))
        });
        Self { processes, variables: variables.collect() }
    }

    /// The nearest agent, such as `claude, pid 812`, the agent's variable if no ancestor is an agent, or the process of
    /// Belay that runs an unknown program or a gate, which executes what an agent wrote.
    pub(crate) fn agent(&self) -> Option<String> {
        let process = self.agents().next();
        let by_process =
            process.and_then(|process| Some(format!("{}, pid {}", process.agent()?.executable, process.pid)));
        let by_variable = || self.variables.first().map(|(_, variable, _)| format!("{variable} is set"));
        let driver = || self.processes.iter().skip(1).find(|process| process.is_belay_driver());
        let by_driver = || driver().map(|process| format!("a program that Belay runs, pid {}", process.pid));
        by_process.or_else(by_variable).or_else(by_driver)
    }

    fn agents(&self) -> impl Iterator<Item = &Process> {
        // This process is Belay, whatever its file is called.
        self.processes.iter().skip(1).filter(|process| process.agent().is_some())
    }

    /// Whether this command has a terminal that no agent among its ancestors uses.
    fn has_own_terminal(&self) -> bool {
        let own = self.processes.first().and_then(|process| process.terminal.as_deref());
        own.is_some() && self.agents().all(|agent| agent.terminal.as_deref() != own)
    }

    /// For the event of a decision.
    pub(crate) fn to_caller(&self) -> Caller {
        let commands = self.processes.iter().take(MAX_PROCESSES).map(|process| {
            let command = if process.args.is_empty() { process.name.clone() } else { process.args.join(" ") };
            let command = Excerpt::with_limit(&command, MAX_COMMAND_BYTES);
            format!("{} {}", process.pid, command.as_str().replace('\n', " "))
        });
        let processes = commands.collect::<Vec<_>>().join(" < ");
        Caller { agent: self.agent().as_deref().map(Excerpt::new), processes: Excerpt::new(&processes) }
    }

    /// The session of the calling agent: by its variable, otherwise by the agent's process.
    fn agent_session(&self, backend: &mut Backend<'_>) -> Option<SessionKey> {
        for (agent, _, id) in &self.variables {
            let key = SessionKey::new(*agent, id.as_str());
            if backend.session(&key).is_ok() {
                return Some(key);
            }
        }
        let pids: Vec<u32> = self.agents().map(|agent| agent.pid).collect();
        let request = SessionsRequest { limit: 200, ..SessionsRequest::default() };
        let sessions = backend.read(&request).ok()?.sessions;
        let own = sessions.into_iter().find(|view| view.pid.is_some_and(|pid| pids.contains(&pid)))?;
        SessionKey::parse(&own.session)
    }
}

/// Checks that a person calls `belay COMMAND`. An agent's attempt is recorded with `session`, or with the agent's own
/// session, and the person is alerted.
pub(crate) fn require_operator(
    context: &Context,
    args: OperatorArgs,
    command: &str,
    session: Option<&SessionKey>,
) -> Result<Box<Caller>, CommandError> {
    let tree = CallerTree::read(&context.env);
    let Some(agent) = tree.agent() else { return Ok(Box::new(tree.to_caller())) };
    let confirmed = args.as_operator && tree.has_own_terminal();
    if !(confirmed && session.is_some()) {
        let result = if confirmed { "Belay ran it because of --as-operator" } else { "Belay refused" };
        record(context, &tree, session, &format!("An agent ({agent}) called `belay {command}`; {result}."));
    }
    if confirmed {
        return Ok(Box::new(tree.to_caller()));
    }
    let error = CommandError::new(format!("this command was called by an agent ({agent}): belay {command}"));
    Err(match args.as_operator {
        true => error.hint("--as-operator needs a terminal that is not the agent's; open one and run it there"),
        false => error.hint(
            "only a person may run it: run it in your own terminal, or pass --as-operator from a terminal that is not \
             the agent's",
        ),
    })
}

/// Records an agent's call as a note in a session, or in `hook.log` if there is none.
fn record(context: &Context, tree: &CallerTree, session: Option<&SessionKey>, sentence: &str) {
    let mut backend = Backend::open(context).ok();
    let found = backend.as_mut().and_then(|backend| match session {
        Some(session) => Some(session.clone()),
        None => tree.agent_session(backend),
    });
    let caller = tree.to_caller();
    let (agent, processes) = (tree.agent(), caller.processes.clone());
    let noted = backend.zip(found).is_some_and(|(mut backend, session)| {
        let request = DecideRequest::new(session, OperatorDecision::Note).note(sentence).by(agent);
        let request = request.caller(Some(Box::new(caller)));
        backend.decide(&request).is_ok()
    });
    if !noted {
        let line = format!("{sentence} Processes: {processes}");
        belay_hooks::hook_log::append(&context.paths.logs(), belay_clock::now(), "operator", &line);
    }
}
