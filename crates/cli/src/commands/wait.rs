//! `belay wait`: declares a wait and sleeps until its conditions are met.

mod condition;
mod signal_wait;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use belay_clock::now;
use belay_config::DurationSetting;
use belay_core::event::{Body, WaitEnded, Waiting};
use belay_core::{Event, Excerpt, SessionKey, Source, Timestamp};
use belay_ipc::{SessionRequest, SessionsRequest};
use belay_tasks::wait;
use clap::Args;
use serde_json::json;

use self::condition::Condition;
use self::signal_wait::SignalWaiter;
use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;

#[derive(Debug, Args)]
#[command(
    after_help = "All given conditions must be met. Exit status 1 means that the wait timed out.\n\nExamples:\n  belay wait --until 5m\n  belay wait --for-file build/done --at-most 30m\n  belay wait --for-command \"curl -sf localhost:8080/healthz\""
)]
pub(crate) struct WaitArgs {
    /// Wait until this time: 14:30, 2026-11-16T09:00:00Z, or a duration such as 10m.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Wait until this file exists.
    #[arg(long, value_name = "PATH")]
    for_file: Vec<PathBuf>,
    /// Wait until this shell command succeeds.
    #[arg(long, value_name = "COMMAND")]
    for_command: Vec<String>,
    /// Wait until this process has exited.
    #[arg(long, value_name = "PID")]
    for_pid: Vec<u32>,
    /// Timeout, at most one day. Agents kill commands that take too long, so stay below their limit.
    #[arg(long, value_name = "TIME", default_value = "10m")]
    at_most: DurationSetting,
    /// Interval between checks.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    every: DurationSetting,
    /// The waiting session; detected if an agent runs this command.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

const MAX_WAIT: Duration = Duration::from_secs(86_400);

pub(crate) fn run(context: &Context, args: &WaitArgs) -> CommandResult {
    let began = Instant::now();
    let at_most = args.at_most.get().unwrap_or(MAX_WAIT).min(MAX_WAIT);
    let every = args.every.get().unwrap_or(Duration::from_secs(2)).max(Duration::from_millis(100));
    let conditions = Condition::parse_all(args, now())?;
    if conditions.is_empty() {
        return Err(CommandError::usage("no condition given")
            .hint("use --until, --for-file, --for-command or --for-pid; for a delay: `belay wait --until 5m`"));
    }
    let what = conditions.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join(" and ");
    let session = session(context, args)?;
    if let Some(session) = &session {
        let until = Some(now() + at_most);
        let all = conditions.iter().map(|one| one.awaited.clone()).collect();
        record(context, session, Body::Waiting(Waiting { until, what: Excerpt::with_limit(&what, 256), all }));
    }
    let mut signals = SignalWaiter::new()?;
    let ended = loop {
        let left = || at_most.saturating_sub(began.elapsed());
        let open: Vec<&Condition> = conditions.iter().filter(|one| !one.is_met(now(), left())).collect();
        if open.is_empty() {
            break WaitOutcome::Met;
        }
        if left().is_zero() {
            break WaitOutcome::TimedOut;
        }
        if let Some(signal) = signals.sleep(next_look(&open, every).min(left())) {
            break WaitOutcome::Interrupted(signal);
        }
    };
    let met = matches!(ended, WaitOutcome::Met);
    if let Some(session) = &session {
        record(context, session, Body::WaitEnded(WaitEnded { met }));
    }
    if let WaitOutcome::Interrupted(signal) = ended {
        return Ok(ExitStatus::Child(128 + signal));
    }
    let seconds = began.elapsed().as_secs();
    if context.out.json {
        let session = session.map(|session| session.to_string());
        context.out.json(&json!({ "met": met, "waited_seconds": seconds, "for": what, "session": session }))?;
    } else if met {
        context.out.line(format!("Waited {seconds} s: {what}. Continue."))?;
    } else {
        context
            .out
            .line(format!("Waited {seconds} s, condition not met: {what}. Investigate, or run `belay wait` again."))?;
    }
    Ok(if met { ExitStatus::Done } else { ExitStatus::Failed })
}

/// Time until one of the conditions may be met.
fn next_look(open: &[&Condition], every: Duration) -> Duration {
    let times = open.iter().map(|condition| wait::next_look(&condition.awaited, now(), every));
    times.min().unwrap_or(every)
}

/// How a wait ended.
enum WaitOutcome {
    Met,
    TimedOut,
    /// A signal ended the wait: agents kill commands that take too long.
    Interrupted(u8),
}

/// The waiting session: from the flag, from the environment, or the only session active in this project. Without one
/// the wait is not recorded.
fn session(context: &Context, args: &WaitArgs) -> Result<Option<SessionKey>, CommandError> {
    if let Some(text) = &args.session {
        return Ok(Some(Backend::open(context)?.resolve(text)?));
    }
    let variables = belay_agents::AGENTS.iter().filter_map(|agent| Some((agent.id, agent.session_env?)));
    for (agent, variable) in variables {
        if let Some(id) = context.env.text(variable) {
            return Ok(Some(SessionKey::new(agent, id)));
        }
    }
    let Ok(here) = std::env::current_dir() else { return Ok(None) };
    let mut backend = Backend::open(context)?;
    if let Some(key) = context.env.text("BELAY_SESSION").and_then(SessionKey::parse)
        && backend.read(&SessionRequest { session: key.clone() })?.is_some()
    {
        return Ok(Some(key));
    }
    let project = belay_hooks::local_facts::project_root(&here.to_string_lossy());
    let active = SessionsRequest {
        states: vec!["active".to_owned()],
        project,
        since: Some(now() - Duration::from_secs(60)),
        limit: 2,
        ..SessionsRequest::default()
    };
    let sessions = backend.read(&active)?.sessions;
    // With two active agents, the session is ambiguous.
    Ok(if let [view] = sessions.as_slice() { Some(SessionKey::new(&*view.agent, &*view.id)) } else { None })
}

/// Records an event of the wait; on failure the wait continues.
fn record(context: &Context, session: &SessionKey, body: Body) {
    let event = Event::new(uuid::Uuid::now_v7().to_string(), session.clone(), Source::Hook, Timestamp::UNKNOWN, body);
    let recorded = serde_json::value::to_raw_value(&event)
        .map_err(|error| CommandError::new(error.to_string()))
        .and_then(|event| Backend::open(context)?.observe(&[event]).map(drop));
    if recorded.is_err() {
        context.out.warn("cannot record this wait", Some("run `belay doctor`"));
    }
}
