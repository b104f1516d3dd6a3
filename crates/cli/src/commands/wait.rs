//! `belay wait`: an agent that waits says so, and sleeps without spending a token.

mod condition;
mod signal_wait;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use belay_config::DurationSetting;
use belay_core::event::{Body, WaitEnded, Waiting};
use belay_core::{Event, Excerpt, SessionKey, Source, Timestamp};
use belay_ipc::{SessionRequest, SessionsRequest};
use clap::Args;
use serde_json::json;

use self::condition::Condition;
use self::signal_wait::SignalWaiter;
use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::format::now;

#[derive(Debug, Args)]
#[command(after_help = "All conditions that are given must come true. Exit status 1 tells that they did not in time.")]
pub(crate) struct WaitArgs {
    /// Until this time: 14:30, 2026-11-16T09:00:00Z, or a span such as 10m.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Until this file exists.
    #[arg(long, value_name = "PATH")]
    for_file: Vec<PathBuf>,
    /// Until this command succeeds.
    #[arg(long, value_name = "COMMAND")]
    for_command: Vec<String>,
    /// Until this process has ended.
    #[arg(long, value_name = "PID")]
    for_pid: Vec<u32>,
    /// At most this long, whatever happens (a day at the very most). Agents end commands that take too
    /// long: stay below that.
    #[arg(long, value_name = "TIME", default_value = "10m")]
    at_most: DurationSetting,
    /// How often to look.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    every: DurationSetting,
    /// The session that waits; found by itself when an agent calls this.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// However long one may wait.
const MAX_WAIT: Duration = Duration::from_secs(86_400);

pub(crate) fn run(context: &Context, args: &WaitArgs) -> CommandResult {
    let began = Instant::now();
    let at_most = args.at_most.get().unwrap_or(MAX_WAIT).min(MAX_WAIT);
    let every = args.every.get().unwrap_or(Duration::from_secs(2)).max(Duration::from_millis(100));
    let conditions = conditions(args)?;
    if conditions.is_empty() {
        return Err(CommandError::usage("say what to wait for")
            .hint("--until, --for-file, --for-command or --for-pid; for a plain pause: belay wait --until 5m"));
    }
    let what = conditions.iter().map(Condition::describe).collect::<Vec<_>>().join(" and ");
    let session = session(context, args)?;
    if let Some(session) = &session {
        let until = Some(now() + at_most);
        declare(context, session, Body::Waiting(Waiting { until, what: Excerpt::with_limit(&what, 256) }));
    }
    let mut bell = SignalWaiter::new()?;
    let ended = loop {
        let left = || at_most.saturating_sub(began.elapsed());
        let open: Vec<&Condition> = conditions.iter().filter(|one| !one.is_met(now(), left())).collect();
        if open.is_empty() {
            break WaitOutcome::Met;
        }
        if left().is_zero() {
            break WaitOutcome::TimedOut;
        }
        if let Some(signal) = bell.sleep(nap(&open, every).min(left())) {
            break WaitOutcome::Interrupted(signal);
        }
    };
    let met = matches!(ended, WaitOutcome::Met);
    if let Some(session) = &session {
        declare(context, session, Body::WaitEnded(WaitEnded { met }));
    }
    if let WaitOutcome::Interrupted(signal) = ended {
        return Ok(ExitStatus::Child(128 + signal));
    }
    let seconds = began.elapsed().as_secs();
    if context.out.json {
        let session = session.map(|session| session.to_string());
        context.out.json(&json!({ "met": met, "waited_seconds": seconds, "for": what, "session": session }))?;
    } else if met {
        context.out.line(format!("Waited {seconds} s: {what}. Go on."))?;
    } else {
        context.out.line(format!(
            "Waited {seconds} s, and it has not come true: {what}. Look into it, or wait again with `belay wait`."
        ))?;
    }
    Ok(if met { ExitStatus::Done } else { ExitStatus::Failed })
}

/// How long nothing can happen: until a known time, unless something else has to be looked at before.
fn nap(open: &[&Condition], every: Duration) -> Duration {
    let due = open.iter().filter_map(|condition| condition.due_in(now())).min();
    let looks = open.iter().any(|condition| condition.due_in(now()).is_none());
    match (due, looks) {
        (Some(due), true) => due.min(every),
        (Some(due), false) => due,
        (None, _) => every,
    }
}

fn conditions(args: &WaitArgs) -> Result<Vec<Condition>, CommandError> {
    let mut all = Vec::new();
    if let Some(text) = &args.until {
        let until = condition::time(text, now()).ok_or_else(|| {
            CommandError::usage(format!("--until {text}: no time")).hint("14:30, 2026-11-16T09:00:00Z, or 10m")
        })?;
        all.push(Condition::Time(until));
    }
    all.extend(args.for_file.iter().cloned().map(Condition::File));
    all.extend(args.for_command.iter().cloned().map(Condition::Command));
    all.extend(args.for_pid.iter().copied().map(Condition::Process));
    Ok(all)
}

/// How a wait ended.
enum WaitOutcome {
    Met,
    TimedOut,
    /// Somebody ended us, with this signal: agents do that to commands that take too long.
    Interrupted(u8),
}

/// Whose wait this is: as said, as the environment says, or the one session that has just begun to
/// run this very command. Without one it is still a wait, only nobody knows.
fn session(context: &Context, args: &WaitArgs) -> Result<Option<SessionKey>, CommandError> {
    if let Some(text) = &args.session {
        return Ok(Some(Backend::open(context)?.resolve(text)?));
    }
    let told = belay_agents::AGENTS.iter().filter_map(|agent| Some((agent.id, agent.session_env?)));
    for (agent, variable) in told {
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
    // Two agents in one folder: a guess would be wrong half the time.
    Ok(if let [view] = sessions.as_slice() { Some(SessionKey::new(&*view.agent, &*view.id)) } else { None })
}

/// Tells the session's record; if that fails the wait goes on all the same.
fn declare(context: &Context, session: &SessionKey, body: Body) {
    let event = Event::new(uuid::Uuid::now_v7().to_string(), session.clone(), Source::Hook, Timestamp::UNKNOWN, body);
    let told = serde_json::value::to_raw_value(&event)
        .map_err(|error| CommandError::new(error.to_string()))
        .and_then(|event| Backend::open(context)?.observe(&[event]).map(drop));
    if told.is_err() {
        context.out.warn("Belay could not be told of this wait", Some("see `belay doctor`"));
    }
}
