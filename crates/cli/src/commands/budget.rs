//! `belay budget`: shows and changes the budgets of sessions.

use std::sync::Arc;

use belay_config::RulesByDir;
use belay_core::event::{Caller, OperatorDecision};
use belay_core::rules::BudgetRules;
use belay_core::session::Budget;
use belay_core::{Rules, SessionKey, format};
use belay_ipc::views::SessionView;
use belay_ipc::{DecideRequest, IncidentsRequest, SessionsRequest};
use clap::Args;
use serde_json::json;

use super::CommandResult;
use super::decide::{refuse, user};
use crate::backend::Backend;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::operator::{OperatorArgs, require_operator};
use crate::output::Table;

/// The pattern that finds used-up budgets.
const BUDGET_PATTERN: &str = "budget";

#[derive(Debug, Args)]
pub(crate) struct BudgetArgs {
    /// Session: any unique prefix of `agent:id`. Without it, all active sessions are listed.
    id: Option<String>,
    /// New total budget of the session: `5usd`, `2M` (tokens), or both.
    #[arg(requires = "id", value_name = "AMOUNT")]
    amounts: Vec<Budget>,
    /// Resume the session if its budget paused it.
    #[arg(long, requires = "amounts")]
    resume: bool,
    #[command(flatten)]
    operator: OperatorArgs,
}

pub(crate) fn run(context: &Context, args: &BudgetArgs) -> CommandResult {
    match &args.id {
        Some(id) => one(context, id, args),
        None => all(context),
    }
}

fn one(context: &Context, id: &str, args: &BudgetArgs) -> CommandResult {
    let mut backend = Backend::open(context)?;
    let session = backend.resolve(id)?;
    let budget: Budget = args.amounts.iter().copied().collect();
    if !budget.is_unlimited() {
        let caller = require_operator(context, args.operator, "budget", Some(&session))?;
        set(context, &mut backend, &session, budget, args.resume, &caller)?;
    }
    let view = backend.session(&session)?;
    if !budget.is_unlimited() {
        context.out.info(format!("{} now has a budget of {}.", view.short, budget.phrase()));
    }
    show(context, vec![view])
}

/// Sets the budget of a session, and resumes it if `resume` is set and its budget holds it.
pub(super) fn set(
    context: &Context,
    backend: &mut Backend<'_>,
    session: &SessionKey,
    budget: Budget,
    resume: bool,
    caller: &Caller,
) -> Result<(), CommandError> {
    if resume {
        refuse_unless_budget_holds(backend, session, budget)?;
    }
    let mut decide = |decision| {
        let caller = Some(Box::new(caller.clone()));
        backend.decide(&DecideRequest::new(session.clone(), decision).by(user(context)).caller(caller))
    };
    decide(OperatorDecision::Budget(budget))?;
    if resume {
        decide(OperatorDecision::RESUME)?;
    }
    Ok(())
}

/// Fails if something other than a budget holds the session: a larger budget does not solve a loop.
fn refuse_unless_budget_holds(
    backend: &mut Backend<'_>,
    session: &SessionKey,
    budget: Budget,
) -> Result<(), CommandError> {
    let view = backend.session(session)?;
    refuse(&OperatorDecision::RESUME, &view)?;
    let Some(held) = &view.held else { return Ok(()) };
    let request = IncidentsRequest { id: Some(held.incident.clone()), closed: true, ..IncidentsRequest::default() };
    let incident = backend.read(&request)?.into_iter().next();
    let cause =
        incident.as_ref().and_then(|incident| incident.finding.as_ref()).map(|finding| finding.pattern.as_str());
    if cause == Some(BUDGET_PATTERN) {
        return Ok(());
    }
    let reason = incident.map_or_else(|| "for an unknown reason".to_owned(), |incident| incident.sentence);
    Err(CommandError::new(format!("no budget holds {}, so `belay budget` does not resume it", view.short))
        .cause(reason)
        .hint(format!("resume it with `belay resume {}`; nothing was changed", view.short))
        .hint(format!("to change only the budget: `belay budget {} {budget}`", view.short)))
}

fn all(context: &Context) -> CommandResult {
    let states = vec!["active".to_owned(), "paused".to_owned()];
    let request = SessionsRequest { states, limit: 200, ..SessionsRequest::default() };
    show(context, Backend::open(context)?.read(&request)?.sessions)
}

/// The rules of sessions in the current directory.
pub(super) fn rules_here(context: &Context) -> Result<Arc<Rules>, CommandError> {
    let (paths, env) = (context.paths.clone(), context.env.clone());
    let rules = RulesByDir::new(paths, env, context.flags()?, Box::new(|_| {}));
    Ok(rules.for_dir(std::env::current_dir().ok().as_deref()))
}

/// The configured limits. `None` if there are none and the listed sessions have budgets of their own.
fn sentence(limits: &BudgetRules, sessions: &[SessionView]) -> Option<String> {
    let usd = |dollars: f64, what: &str| (dollars > 0.0).then(|| format!("${dollars:.2} {what}"));
    let tokens = |tokens: u64, what: &str| (tokens > 0).then(|| format!("{} {what}", format::tokens(tokens)));
    let all = [
        tokens(limits.session_tokens, "per session"),
        usd(limits.session_usd, "per session"),
        tokens(limits.day_tokens, "per session and day"),
        usd(limits.day_usd, "per session and day"),
        usd(limits.usd_per_minute, "per minute"),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if !all.is_empty() {
        return Some(format!("Configured limits: {}. A session's own budget takes precedence.", all.join(", ")));
    }
    let has_own = |view: &SessionView| view.budget.tokens.is_some() || view.budget.cost_micros.is_some();
    let all_have_own = !sessions.is_empty() && sessions.iter().all(has_own);
    (!all_have_own)
        .then(|| "No limit is configured. Set one with `belay config set detect.budget.session_usd 5`.".to_owned())
}

fn show(context: &Context, sessions: Vec<SessionView>) -> CommandResult {
    let limits = rules_here(context)?.budget;
    if context.out.json {
        let rows = sessions.iter().map(|view| {
            json!({
                "session": view.session, "state": view.state,
                "tokens": view.tokens, "cost_micros": view.cost_micros,
                "unpriced_micros": view.unpriced_micros, "budget": view.budget,
            })
        });
        context.out.json(&json!({ "sessions": rows.collect::<Vec<_>>(), "limits": limits }))?;
        return Ok(ExitStatus::Done);
    }
    if let Some(sentence) = sentence(&limits, &sessions) {
        context.out.info(sentence);
    }
    if sessions.is_empty() {
        context.out.info("No active sessions.");
        return Ok(ExitStatus::Done);
    }
    let mut table = Table::new(&["session", "state", "tokens", "of", "cost", "of"]).right_align(&[2, 3, 4, 5]);
    for view in sessions {
        let budget = view.budget;
        table.row(vec![
            view.short,
            view.state.to_string(),
            format::compact(view.tokens),
            budget.tokens.map_or_else(|| "-".to_owned(), format::compact),
            format::cost(view.cost_micros, view.unpriced_micros),
            budget.cost_micros.map_or_else(|| "-".to_owned(), format::dollars_or_dash),
        ]);
    }
    table.print(&context.out)?;
    Ok(ExitStatus::Done)
}
