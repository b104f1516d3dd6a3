//! Who called a command: a person, or an agent among its ancestors.
//!
//! Some commands lift, weaken or end supervision, or hide a held session. An agent runs as the same user and can call
//! them, so they refuse if an agent, or a Belay process that runs agents and gates, is among their ancestors, if an agent's
//! session variable is in the environment, or if not all ancestors are known. This does not stop an agent that hides its
//! processes; it stops one that follows a message, and it leaves a record.

use belay_agents::AGENTS;
use belay_config::EnvSnapshot;
use belay_core::event::{Caller, OperatorDecision};
use belay_core::{Excerpt, SessionKey};
use belay_hooks::process_chain::ProcessChain;
use belay_ipc::{DecideRequest, SessionsRequest};
use clap::Args;

use crate::backend::Backend;
use crate::context::Context;
use crate::error::CommandError;

/// Set by `belay run` and `belay exec` for the program that they run, whether Belay knows it or not.
const RUN_VARIABLE: &str = "BELAY_SESSION";

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
    chain: ProcessChain,
    /// Session variables of agents and of runs, and the sessions that they name.
    variables: Vec<(&'static str, SessionKey)>,
}

impl CallerTree {
    pub(crate) fn read(env: &EnvSnapshot) -> Self {
        let agents = AGENTS.iter().filter_map(|agent| {
            let variable = agent.session_env?;
            Some((variable, SessionKey::new(agent.id, env.text(variable)?)))
        });
        let run = env.text(RUN_VARIABLE).and_then(SessionKey::parse).map(|run| (RUN_VARIABLE, run));
        Self { chain: ProcessChain::of_process(std::process::id(), env), variables: agents.chain(run).collect() }
    }

    /// Why this command does not count as a person's: the nearest agent, such as `claude, pid 812`, otherwise the agent's
    /// variable, otherwise that not all ancestors are known.
    pub(crate) fn agent(&self) -> Option<String> {
        let by_variable = || self.variables.first().map(|(variable, _)| format!("{variable} is set"));
        self.chain.agent().or_else(by_variable).or_else(|| self.chain.suspect())
    }

    /// Whether an agent was found. Otherwise one may be among the ancestors that are not known.
    fn is_agent_known(&self) -> bool {
        !self.variables.is_empty() || self.chain.agent().is_some()
    }

    /// For the event of a decision.
    pub(crate) fn to_caller(&self) -> Caller {
        Caller { agent: self.agent().as_deref().map(Excerpt::new), ..self.chain.to_caller() }
    }

    /// The session of the calling agent: by its variable, otherwise by the agent's process.
    fn agent_session(&self, backend: &mut Backend<'_>) -> Option<SessionKey> {
        let named = self.variables.iter().find(|(_, key)| backend.session(key).is_ok());
        if let Some((_, key)) = named {
            return Some(key.clone());
        }
        let pids: Vec<u32> = self.chain.drivers().map(|driver| driver.pid).collect();
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
    let confirmed = args.as_operator && tree.chain.has_own_terminal();
    if !(confirmed && session.is_some()) {
        let result = if confirmed { "Belay ran it because of --as-operator" } else { "Belay refused" };
        record(context, &tree, session, &format!("An agent ({agent}) called `belay {command}`; {result}."));
    }
    if confirmed {
        return Ok(Box::new(tree.to_caller()));
    }
    let error = CommandError::new(match tree.is_agent_known() {
        true => format!("this command was called by an agent ({agent}): belay {command}"),
        false => format!("an agent may have called this command ({agent}): belay {command}"),
    });
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
