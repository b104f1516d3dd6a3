//! The operator's decisions: pause, resume, ack, kill, reset, archive.

use belay_core::event::{Caller, OperatorDecision};
use belay_core::session::StateName;
use belay_core::{EventOutcome, Excerpt, SessionKey};
use belay_ipc::DecideRequest;
use belay_ipc::views::SessionView;
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::operator::{CallerTree, OperatorArgs, require_operator};

#[derive(Debug, Args)]
pub(crate) struct SessionTarget {
    /// Session: any unique prefix of `agent:id` or of the agent's own id.
    id: String,
    /// Reason; stored with the session.
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
    #[command(flatten)]
    operator: OperatorArgs,
    /// The new plan; it must differ from earlier ones.
    #[arg(long, value_name = "TEXT", conflicts_with = "require_plan")]
    plan: Option<String>,
    /// Keep the session held until the agent states a new plan.
    #[arg(long, conflicts_with = "cooldown")]
    require_plan: bool,
    /// Resume after this long, such as 10m; at most one day.
    #[arg(long, value_name = "TIME", value_parser = cooldown)]
    cooldown: Option<u64>,
    /// Also discard the evidence.
    #[arg(long)]
    reset: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AckArgs {
    #[command(flatten)]
    target: SessionTarget,
    #[command(flatten)]
    operator: OperatorArgs,
}

#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    #[command(flatten)]
    target: SessionTarget,
    #[command(flatten)]
    operator: OperatorArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResetArgs {
    #[command(flatten)]
    target: SessionTarget,
    #[command(flatten)]
    operator: OperatorArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ArchiveArgs {
    #[command(flatten)]
    target: SessionTarget,
    #[command(flatten)]
    operator: OperatorArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SeenArgs {
    #[command(flatten)]
    target: SessionTarget,
    #[command(flatten)]
    operator: OperatorArgs,
}

fn cooldown(text: &str) -> Result<u64, String> {
    let max = belay_core::session::MAX_COOLDOWN;
    match text.parse::<belay_config::DurationSetting>()?.get() {
        Some(time) if time <= max => Ok(time.as_secs()),
        _ => Err("the maximum cooldown is one day; omit --cooldown to resume at once".to_owned()),
    }
}

pub(crate) fn pause(context: &Context, args: &PauseArgs) -> CommandResult {
    let caller = Box::new(CallerTree::read(&context.env).to_caller());
    let mut backend = Backend::open(context)?;
    let session = backend.resolve(&args.target.id)?;
    execute(context, backend, session, &args.target, OperatorDecision::Pause, caller)
}

pub(crate) fn resume(context: &Context, args: &ResumeArgs) -> CommandResult {
    let decision = OperatorDecision::Resume {
        cooldown_secs: args.cooldown,
        plan: args.plan.as_deref().map(Excerpt::new),
        require_plan: args.require_plan,
        reset: args.reset,
    };
    decide_as_operator(context, &args.target, decision, "resume", args.operator)
}

pub(crate) fn ack(context: &Context, args: &AckArgs) -> CommandResult {
    decide_unless_held(context, &args.target, OperatorDecision::Acknowledge, "ack", args.operator)
}

pub(crate) fn kill(context: &Context, args: &KillArgs) -> CommandResult {
    decide_as_operator(context, &args.target, OperatorDecision::Kill, "kill", args.operator)
}

pub(crate) fn reset(context: &Context, args: &ResetArgs) -> CommandResult {
    decide_as_operator(context, &args.target, OperatorDecision::Reset, "reset", args.operator)
}

pub(crate) fn archive(context: &Context, args: &ArchiveArgs) -> CommandResult {
    decide_unless_held(context, &args.target, OperatorDecision::Archive, "archive", args.operator)
}

pub(crate) fn seen(context: &Context, args: &SeenArgs) -> CommandResult {
    decide_unless_held(context, &args.target, OperatorDecision::MarkSeen, "seen", args.operator)
}

/// Archives the session of a self-test. On failure it merely stays in the lists.
pub(super) fn archive_quietly(context: &Context, session: &SessionKey) {
    let note = "self-test of `belay init`".to_owned();
    let request = DecideRequest::new(session.clone(), OperatorDecision::Archive).note(note);
    let _ = Backend::open(context).and_then(|mut backend| backend.decide(&request));
}

/// A decision that takes a session out of a person's sight. An agent may make it, too, unless the session is held.
fn decide_unless_held(
    context: &Context,
    target: &SessionTarget,
    decision: OperatorDecision,
    command: &str,
    operator: OperatorArgs,
) -> CommandResult {
    let mut backend = Backend::open(context)?;
    let session = backend.resolve(&target.id)?;
    let caller = caller_unless_held(context, &mut backend, &session, command, operator)?;
    execute(context, backend, session, target, decision, caller)
}

/// The caller of such a decision. Fails for an agent if the session is held: a held session needs a person.
pub(super) fn caller_unless_held(
    context: &Context,
    backend: &mut Backend<'_>,
    session: &SessionKey,
    command: &str,
    operator: OperatorArgs,
) -> Result<Box<Caller>, CommandError> {
    match backend.session(session)?.held {
        Some(_) => require_operator(context, operator, command, Some(session)),
        None => Ok(Box::new(CallerTree::read(&context.env).to_caller())),
    }
}

/// A decision that lifts or ends supervision, or ends work.
fn decide_as_operator(
    context: &Context,
    target: &SessionTarget,
    decision: OperatorDecision,
    command: &str,
    operator: OperatorArgs,
) -> CommandResult {
    let mut backend = Backend::open(context)?;
    let session = backend.resolve(&target.id)?;
    let caller = require_operator(context, operator, command, Some(&session))?;
    execute(context, backend, session, target, decision, caller)
}

fn execute(
    context: &Context,
    mut backend: Backend<'_>,
    session: SessionKey,
    target: &SessionTarget,
    decision: OperatorDecision,
    caller: Box<Caller>,
) -> CommandResult {
    let recorded = record(context, &mut backend, session, decision, &target.note, caller)?;
    if context.out.json {
        let RecordedDecision { outcome, after, .. } = recorded;
        context
            .out
            .json(&json!({ "committed": outcome.committed, "effects": outcome.decision.effects, "session": after }))?;
        return Ok(ExitStatus::Done);
    }
    context.out.line(recorded.sentence)?;
    Ok(ExitStatus::Done)
}

/// A decision that was made.
pub(super) struct RecordedDecision {
    outcome: EventOutcome,
    after: SessionView,
    /// The result in one sentence.
    pub(super) sentence: String,
}

/// Records a decision, and warns if it is not stored.
pub(super) fn record(
    context: &Context,
    backend: &mut Backend<'_>,
    session: SessionKey,
    decision: OperatorDecision,
    note: &str,
    caller: Box<Caller>,
) -> Result<RecordedDecision, CommandError> {
    let before = backend.session(&session)?;
    refuse(&decision, &before)?;
    let request = DecideRequest::new(session.clone(), decision).note(note).by(user(context)).caller(Some(caller));
    let outcome = backend.decide(&request)?;
    let after = backend.session(&session)?;
    if !outcome.committed && !context.out.json {
        context.out.warn("the decision is in memory only: the store is not writable", Some("see `belay status`"));
    }
    let sentence = sentence(&request.decision, &before, &after);
    Ok(RecordedDecision { outcome, after, sentence })
}

/// Fails for a decision that every way of deciding refuses; here, under the short name of the session.
pub(super) fn refuse(decision: &OperatorDecision, session: &SessionView) -> Result<(), CommandError> {
    let hold = session.held.as_ref().map(|held| held.resume_requires);
    match decision.refusal(hold) {
        Some(refusal) => Err(CommandError::new(refusal.message(&session.short)).hint(refusal.hint())),
        None => Ok(()),
    }
}

/// The result in one sentence.
fn sentence(decision: &OperatorDecision, before: &SessionView, after: &SessionView) -> String {
    let name = &after.short;
    match decision {
        OperatorDecision::Pause if before.state == StateName::Paused => format!("{name} is already paused."),
        OperatorDecision::Pause if after.state == StateName::Paused => {
            format!("{name} is paused: its next call is held. Resume it with `belay resume {name}`.")
        }
        OperatorDecision::Pause => format!("{name} is {} and cannot be paused.", after.state),
        OperatorDecision::Resume { .. } => match &after.held {
            None if before.held.is_none() => format!("{name} was not held; it is {}.", after.state),
            None => format!("{name} is resumed."),
            Some(held) => match held.until {
                Some(until) => format!("{name} resumes at {}.", crate::format::local_time(until)),
                None => format!("{name} resumes when a new plan is stated: `belay resume {name} --plan TEXT`."),
            },
        },
        OperatorDecision::Acknowledge => match &after.held {
            Some(held) => format!("Incident {} is acknowledged; {name} stays {}.", held.incident, after.state),
            None => format!("{name} has no open incident."),
        },
        OperatorDecision::Kill if before.state == StateName::Killed => format!("{name} is already killed."),
        OperatorDecision::Kill => format!("{name} is killed: all further calls and requests are refused."),
        OperatorDecision::Reset => format!("The evidence against {name} is discarded; its log is kept."),
        OperatorDecision::Archive => format!("{name} is archived; `belay sessions --all` lists it."),
        OperatorDecision::MarkSeen => format!("{name} is marked as seen."),
        OperatorDecision::Allow { .. }
        | OperatorDecision::Answer { .. }
        | OperatorDecision::Budget { .. }
        | OperatorDecision::Configure { .. }
        | OperatorDecision::Note => {
            format!("Recorded for {name}.")
        }
    }
}

/// The name of the operator, for the log.
pub(super) fn user(context: &Context) -> Option<String> {
    context.env.text("USER").or_else(|| context.env.text("LOGNAME")).map(str::to_owned)
}
