//! One bounded run of an agent without a terminal.
//!
//! The agent reads its prompt from stdin, works in its own process group, and is supervised like any other run: hooks
//! and proxy report, detectors and budgets apply. Its structured output becomes [`HeadlessEvent`]s, and the run ends
//! with exactly one [`HeadlessResult`].
//!
//! Nothing outlives the run. At its end, the agent's process group is asked to exit, and killed after a grace period. On
//! Linux, so is every other process that holds the lock of the run's directory, which everything inherits that the agent
//! starts. Therefore a process runs one agent at a time: `belay exec`.

mod process;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use belay_agents::headless::{Access, HeadlessEvent, HeadlessProtocol, HeadlessRequest, OutputReader};
use belay_config::DurationSetting;
use belay_core::event::Usage;
use belay_core::session::{Budget, StateName};
use belay_core::status::StatusValue;
use belay_core::{SessionKey, Timestamp};
use belay_ipc::SessionRequest;
use belay_ipc::views::SessionView;
use serde::{Deserialize, Serialize};

use crate::launch::{self, BelayEnv, LaunchError, LaunchPlan, LaunchRequest, Progress, Started};
pub use process::CancelHandle;
use process::{Exit, Stopped};

/// What to run.
#[derive(Clone, Debug)]
pub struct HeadlessRun {
    /// The agent, or the path of its program.
    pub agent: OsString,
    /// The agent's program, if it is not the one in PATH.
    pub program: Option<PathBuf>,
    /// Further arguments. They come before those of a known agent's headless mode.
    pub args: Vec<OsString>,
    pub prompt: String,
    pub dir: PathBuf,
    /// What the agent may do; `None` for the default, [`Access::Workspace`] for known agents.
    pub access: Option<Access>,
    pub model: Option<String>,
    /// Id of the agent's session to continue.
    pub resume: Option<String>,
    /// JSON schema of the answer, if the agent can enforce one.
    pub schema: Option<String>,
    pub timeout: Option<Duration>,
    pub budget: Budget,
    /// Settings of its sessions only: configuration keys and values.
    pub settings: BTreeMap<String, String>,
    /// Who sets budgets and settings.
    pub operator: Option<String>,
}

impl HeadlessRun {
    /// Refuses what nothing would enforce.
    fn check(&self, protocol: Option<&dyn HeadlessProtocol>) -> Result<(), LaunchError> {
        let program = || self.agent.to_string_lossy().into_owned();
        let unsupported = |what: &'static str| Err(LaunchError::Unsupported { program: program(), what });
        let is_known = protocol.is_some();
        // An id that is read as a flag could lift the agent's restrictions.
        if [&self.model, &self.resume].into_iter().flatten().any(|value| value.starts_with('-')) {
            return unsupported("a model or a session that begins with a dash");
        }
        if !is_known && self.access.is_some() {
            return unsupported("--access");
        }
        if !is_known && self.model.is_some() {
            return unsupported("--model");
        }
        if !is_known && self.resume.is_some() {
            return unsupported("--resume");
        }
        if self.schema.is_some() && !protocol.is_some_and(|protocol| protocol.enforces_schema()) {
            return unsupported("--schema");
        }
        Ok(())
    }
}

/// Receives the progress of a headless run.
pub trait Observer: Progress {
    fn event(&self, event: &HeadlessEvent);
}

/// How a run ended. There is always exactly one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadlessResult {
    #[serde(flatten)]
    pub ending: Ending,
    /// The agent's last message.
    pub answer: String,
    /// `agent:native-id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub usage: Usage,
    /// Millionths of a US dollar; `None` if the cost is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    pub duration_ms: u64,
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Ending {
    Finished,
    /// The agent needs a person: a login, or a permission that cannot be given without a terminal.
    Refused {
        why: String,
    },
    /// A usage limit of the account; `until` if it is known.
    Limited {
        message: String,
        until: Option<Timestamp>,
    },
    /// Belay or a person holds the session.
    Held {
        state: StateName,
        reason: String,
    },
    TimedOut,
    Cancelled,
    Crashed {
        status: Option<i32>,
        signal: Option<i32>,
        last_output: String,
    },
}

/// Runs the agent to its end. `idle_exit` applies to a resident process that has to be started.
pub fn run(
    run: &HeadlessRun,
    belay: BelayEnv<'_>,
    idle_exit: DurationSetting,
    observer: &dyn Observer,
    cancel: &CancelHandle,
) -> Result<HeadlessResult, LaunchError> {
    let started = Instant::now();
    let name = PathBuf::from(&run.agent).file_name().map(|name| name.to_string_lossy().into_owned());
    let protocol = name.as_deref().and_then(belay_agents::find).and_then(|agent| agent.headless);
    run.check(protocol)?;
    let mut command = vec![run.agent.clone()];
    command.extend(run.args.iter().cloned());
    let agent = name.as_deref().map_or_else(String::new, |name| belay_agents::canonical_id(name).to_owned());
    let resumed = run.resume.as_ref().map(|session| SessionKey::new(&agent, session));
    let request = LaunchRequest {
        command,
        program: run.program.clone(),
        dir: Some(run.dir.clone()),
        hooks: true,
        proxy: true,
        watch: true,
        budget: run_budget(run, &resumed, belay, idle_exit)?,
        settings: run.settings.clone(),
        operator: run.operator.clone(),
    };
    let mut plan = LaunchPlan::new(request, belay)?;
    if let Some(protocol) = protocol {
        let headless = protocol.command(&HeadlessRequest {
            access: run.access.unwrap_or(Access::Workspace),
            model: run.model.as_deref(),
            resume: run.resume.as_deref(),
            schema: run.schema.as_deref(),
            scratch: plan.scratch(),
        });
        plan.add_headless(headless);
    }
    let mut reader = OutputReader::new(protocol);
    let progress: &dyn Progress = &AsProgress(observer);
    let supervised = launch::run_with(plan, belay, idle_exit, progress, |program| {
        // A session that is continued has its earlier spend.
        let before = resumed.as_ref().and_then(|key| program.session.view_of(key));
        let deadline = run.timeout.map(|timeout| started + timeout);
        let exit = process::run(program, &run.prompt, deadline, cancel, |output| {
            for event in reader.read(output) {
                observer.event(&event);
            }
        })?;
        for event in reader.finish() {
            observer.event(&event);
        }
        Ok((exit.status, (exit, program.session.last_view(), before)))
    })?;
    let (exit, view, before) = supervised.output;
    let (reported_usage, reported) = reader.usage();
    // The session knows what its sub-agents cost, too. Without the proxy and a price, only the agent knows.
    let cost = |view: &Option<SessionView>| view.as_ref().map_or(0, SessionView::total_cost_micros);
    let counted = Some(cost(&view).saturating_sub(cost(&before))).filter(|micros| *micros > 0);
    let tokens = |view: &Option<SessionView>| view.as_ref().map_or_else(Usage::default, |view| view.usage);
    let usage = run_usage(tokens(&view).saturating_sub(&tokens(&before)), reported_usage, run.resume.is_some());
    Ok(HeadlessResult {
        ending: ending(&exit, &reader, view.as_ref()),
        answer: reader.answer().to_owned(),
        session: supervised.session.map(|session| session.to_string()),
        usage,
        micros: counted.or(reported),
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

/// Tokens of the run, from those that its session has counted and those that the agent reports.
///
/// Some agents report their usage only when they have finished, so that a run that Belay ends would have cost nothing.
/// And some report that of the whole session if they continue one.
fn run_usage(counted: Usage, reported: Usage, is_resumed: bool) -> Usage {
    let is_counted = counted.total() > 0 && (is_resumed || counted.total() >= reported.total());
    if is_counted { counted } else { reported }
}

/// The budget of the session. That of a run does not include what a continued session has spent before.
fn run_budget(
    run: &HeadlessRun,
    resumed: &Option<SessionKey>,
    belay: BelayEnv<'_>,
    idle_exit: DurationSetting,
) -> Result<Budget, LaunchError> {
    let Some(session) = resumed.as_ref().filter(|_| !run.budget.is_unlimited()) else { return Ok(run.budget) };
    let mut client = launch::connect_or_start(belay, idle_exit)?;
    let Some(view) = client.read(&SessionRequest { session: session.clone() })? else { return Ok(run.budget) };
    let tokens_before = view.tokens.saturating_add(view.sub_agents.tokens);
    Ok(run.budget.raised_by(tokens_before, view.total_cost_micros()))
}

/// Why the run ended: what Belay did comes first, then what the agent says, then its exit status.
fn ending(exit: &Exit, reader: &OutputReader, view: Option<&SessionView>) -> Ending {
    match &exit.stopped {
        Some(Stopped::Cancelled) => return Ending::Cancelled,
        Some(Stopped::TimedOut) => return Ending::TimedOut,
        Some(Stopped::Limited { message, until }) => {
            return Ending::Limited { message: message.clone(), until: Some(*until) };
        }
        None => {}
    }
    if let Some(view) = view {
        match view.status.value {
            StatusValue::Held => return Ending::Held { state: view.state, reason: view.status.why.clone() },
            StatusValue::Limited => {
                return Ending::Limited { message: view.status.why.clone(), until: view.status.until };
            }
            _ => {}
        }
    }
    let succeeded = exit.status.is_some_and(|status| status.success());
    let failed = !succeeded || reader.failure().is_some();
    if let Some((message, until)) = reader.limit().filter(|_| failed) {
        // Some agents report the limit and exit, and only the model's response said until when it holds.
        let until = until.or(view.and_then(|view| view.limited_until));
        return Ending::Limited { message: message.to_owned(), until };
    }
    if !failed {
        return match reader.denied() {
            // An agent without an answer that was refused something could not do its work.
            Some(tool) if reader.answer().is_empty() => Ending::Refused { why: format!("{tool} needs a permission") },
            _ => Ending::Finished,
        };
    }
    let last_output = reader.failure().map_or_else(|| exit.stderr_tail(), str::to_owned);
    if let Some(why) = login_needed(&last_output) {
        return Ending::Refused { why };
    }
    let status = exit.status.and_then(|status| status.code());
    Ending::Crashed { status, signal: exit.status.and_then(|status| status.signal()), last_output }
}

/// The line that asks for a login.
fn login_needed(output: &str) -> Option<String> {
    let signs = [
        "/login",
        "not logged in",
        "please log in",
        "login required",
        "authentication failed",
        "failed to authenticate",
        "401 unauthorized",
        "invalid api key",
        "no api key",
    ];
    let line = output.lines().find(|line| {
        let line = line.to_lowercase();
        signs.iter().any(|sign| line.contains(sign))
    })?;
    Some(line.trim().chars().take(300).collect())
}

/// An observer as the progress of a launch.
struct AsProgress<'a>(&'a dyn Observer);

impl Progress for AsProgress<'_> {
    fn started(&self, started: &Started<'_>) {
        self.0.started(started);
    }

    fn supervision_lost(&self, error: &LaunchError) {
        self.0.supervision_lost(error);
    }

    fn supervision_restored(&self) {
        self.0.supervision_restored();
    }
}
