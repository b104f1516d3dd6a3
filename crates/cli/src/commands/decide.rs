//! A person's decisions: pause, resume, ack, kill, reset, archive.

use belay_core::event::OperatorDecision;
use belay_core::{Excerpt, SessionKey};
use belay_ipc::DecideRequest;
use belay_ipc::views::SessionView;
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::exit_status::ExitStatus;

/// Which session, and why.
#[derive(Debug, Args)]
pub(crate) struct SessionTarget {
    /// The session: any unique beginning of `agent:id` or of the agent's own id.
    id: String,
    /// Why, in your words; kept in the session's record.
    #[arg(long, short = 'm', default_value = "", value_name = "TEXT")]
    note: String,
}

#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    target: SessionTarget,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    target: SessionTarget,
    /// The changed plan; it must differ from those tried.
    #[arg(long, value_name = "TEXT", conflicts_with = "require_plan")]
    plan: Option<String>,
    /// Stay held until the agent names a changed plan.
    #[arg(long, conflicts_with = "cooldown")]
    require_plan: bool,
    /// Go on only after this long, such as 10m; a day at most.
    #[arg(long, value_name = "TIME", value_parser = cooldown)]
    cooldown: Option<u64>,
    /// Also forget the evidence.
    #[arg(long)]
    reset: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AckArgs {
    #[command(flatten)]
    target: SessionTarget,
}

#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    #[command(flatten)]
    target: SessionTarget,
}

#[derive(Debug, Args)]
pub(crate) struct ResetArgs {
    #[command(flatten)]
    target: SessionTarget,
}

#[derive(Debug, Args)]
pub(crate) struct ArchiveArgs {
    #[command(flatten)]
    target: SessionTarget,
}

fn cooldown(text: &str) -> Result<u64, String> {
    let most = belay_core::session::MAX_COOLDOWN;
    match text.parse::<belay_config::DurationSetting>()?.get() {
        Some(time) if time <= most => Ok(time.as_secs()),
        _ => Err("a cooldown lasts a day at most; without one the session goes on at once".to_owned()),
    }
}

pub(crate) fn pause(context: &Context, args: &PauseArgs) -> CommandResult {
    decide(context, &args.target, OperatorDecision::Pause)
}

pub(crate) fn resume(context: &Context, args: &ResumeArgs) -> CommandResult {
    let decision = OperatorDecision::Resume {
        cooldown_secs: args.cooldown,
        plan: args.plan.as_deref().map(Excerpt::new),
        require_plan: args.require_plan,
        reset: args.reset,
    };
    decide(context, &args.target, decision)
}

pub(crate) fn ack(context: &Context, args: &AckArgs) -> CommandResult {
    decide(context, &args.target, OperatorDecision::Acknowledge)
}

pub(crate) fn kill(context: &Context, args: &KillArgs) -> CommandResult {
    decide(context, &args.target, OperatorDecision::Kill)
}

pub(crate) fn reset(context: &Context, args: &ResetArgs) -> CommandResult {
    decide(context, &args.target, OperatorDecision::Reset)
}

pub(crate) fn archive(context: &Context, args: &ArchiveArgs) -> CommandResult {
    decide(context, &args.target, OperatorDecision::Archive)
}

/// Puts a session of our own making out of sight. If that fails it is merely seen.
pub(super) fn archive_quietly(context: &Context, session: &SessionKey) {
    let note = "made by `belay init` to try out a hook".to_owned();
    let ask = DecideRequest { session: session.clone(), decision: OperatorDecision::Archive, note, by: None };
    let _ = Backend::open(context).and_then(|mut backend| backend.decide(&ask));
}

fn decide(context: &Context, target: &SessionTarget, decision: OperatorDecision) -> CommandResult {
    let mut backend = Backend::open(context)?;
    let session = backend.resolve(&target.id)?;
    let before = backend.session(&session)?;
    let ask = DecideRequest { session: session.clone(), decision, note: target.note.clone(), by: user(context) };
    let taken = backend.decide(&ask)?;
    let after = backend.session(&session)?;
    if context.out.json {
        context
            .out
            .json(&json!({ "committed": taken.committed, "effects": taken.decision.effects, "session": after }))?;
        return Ok(ExitStatus::Done);
    }
    if !taken.committed {
        context.out.warn("this is decided in memory only: the store cannot be written", Some("see `belay status`"));
    }
    context.out.line(sentence(&ask.decision, &before, &after))?;
    Ok(ExitStatus::Done)
}

/// What came of it, in one sentence.
fn sentence(decision: &OperatorDecision, before: &SessionView, after: &SessionView) -> String {
    let name = &after.short;
    match decision {
        OperatorDecision::Pause if before.state == "paused" => format!("{name} was paused already."),
        OperatorDecision::Pause if after.state == "paused" => {
            format!("{name} is paused: its next call is held. `belay resume {name}` lets it go on.")
        }
        OperatorDecision::Pause => format!("{name} is {} and cannot be paused.", after.state),
        OperatorDecision::Resume { .. } => match &after.held {
            None if before.held.is_none() => format!("{name} was not held; it is {}.", after.state),
            None => format!("{name} goes on."),
            Some(held) if held.resume_requires == "never" => {
                format!("{name} was killed and stays so. Start a new session to go on.")
            }
            Some(held) => match held.until {
                Some(until) => format!("{name} goes on at {}.", crate::format::local_time(until)),
                None => format!("{name} goes on once a changed plan is named: `belay resume {name} --plan TEXT`."),
            },
        },
        OperatorDecision::Acknowledge => match &after.held {
            Some(held) => format!("Incident {} of {name} is acknowledged; it stays {}.", held.incident, after.state),
            None => format!("{name} has no open incident."),
        },
        OperatorDecision::Kill if before.state == "killed" => format!("{name} was killed already."),
        OperatorDecision::Kill => format!("{name} is killed: nothing it asks for is let through any more."),
        OperatorDecision::Reset => format!("The evidence against {name} is forgotten; its log is kept."),
        OperatorDecision::Archive => format!("{name} is archived; `belay sessions --all` still lists it."),
        OperatorDecision::Allow { .. } | OperatorDecision::Budget { .. } | OperatorDecision::Note => {
            format!("Noted for {name}.")
        }
    }
}

/// Who decides, for the record.
pub(super) fn user(context: &Context) -> Option<String> {
    context.env.text("USER").or_else(|| context.env.text("LOGNAME")).map(str::to_owned)
}
