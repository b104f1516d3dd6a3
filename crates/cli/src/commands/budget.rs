//! `belay budget`: shows and changes the budgets of sessions.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use belay_config::RulesByDir;
use belay_core::event::{Caller, OperatorDecision};
use belay_core::rules::{BudgetRules, usd_to_micros};
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

/// An amount of tokens or money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetAmount {
    Tokens(u64),
    /// In millionths of a US dollar.
    Money(u64),
}

impl BudgetAmount {
    pub(super) fn is_money(self) -> bool {
        matches!(self, Self::Money(_))
    }

    /// The amount as people read it.
    fn phrase(self) -> String {
        match self {
            Self::Tokens(tokens) => format::tokens(tokens),
            Self::Money(micros) => format::dollars(micros),
        }
    }
}

impl FromStr for BudgetAmount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || format!("invalid amount `{text}`; use 2.50usd or $2.50 for money, 500k or 2M for tokens");
        let lower = text.trim().to_ascii_lowercase();
        let money = lower.strip_prefix('$').or_else(|| lower.strip_suffix("usd"));
        let tokens = lower.strip_suffix("tokens").or_else(|| lower.ends_with(['k', 'm']).then_some(lower.as_str()));
        let number = |digits: &str, most: f64| {
            let number = digits.trim().parse::<f64>().ok().filter(|number| (0.0..=most).contains(number));
            number.ok_or_else(refuse)
        };
        let amount = match (money, tokens) {
            (Some(money), _) => match number(money, 1e9)? {
                // It would be rounded to an amount that the user did not ask for.
                usd if usd > 0.0 && usd < 1e-6 => Self::Money(0),
                usd => Self::Money(usd_to_micros(usd)),
            },
            (None, Some(tokens)) => {
                let tokens = tokens.trim();
                let (digits, factor) = match tokens.char_indices().last() {
                    Some((at, 'k')) => (&tokens[..at], 1e3),
                    Some((at, 'm')) => (&tokens[..at], 1e6),
                    _ => (tokens, 1.0),
                };
                Self::Tokens((number(digits, 1e15)? * factor).round() as u64)
            }
            (None, None) if number(&lower, f64::MAX)? == 0.0 => Self::Tokens(0),
            (None, None) => {
                return Err(format!("`{text}` has no unit; use {lower}usd for money or {lower}tokens for tokens"));
            }
        };
        match amount {
            // In the configuration 0 means unlimited, which is not what a budget of 0 suggests.
            Self::Tokens(0) | Self::Money(0) => {
                Err(format!("the budget must be positive, not `{text}`; use an amount such as 2.50usd or 500k"))
            }
            amount => Ok(amount),
        }
    }
}

impl fmt::Display for BudgetAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokens(tokens) => write!(f, "{tokens}tokens"),
            Self::Money(micros) => write!(f, "{}usd", *micros as f64 / 1e6),
        }
    }
}

impl From<BudgetAmount> for OperatorDecision {
    fn from(amount: BudgetAmount) -> Self {
        match amount {
            BudgetAmount::Tokens(tokens) => Self::Budget { tokens: Some(tokens), cost_micros: None },
            BudgetAmount::Money(cost_micros) => Self::Budget { tokens: None, cost_micros: Some(cost_micros) },
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct BudgetArgs {
    /// Session: any unique prefix of `agent:id`. Without it, all active sessions are listed.
    id: Option<String>,
    /// New total budget of the session: `5usd`, `2M` (tokens), or both.
    #[arg(requires = "id", value_name = "AMOUNT")]
    amounts: Vec<BudgetAmount>,
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
    if !args.amounts.is_empty() {
        let caller = require_operator(context, args.operator, "budget", Some(&session))?;
        set(context, &mut backend, &session, &args.amounts, args.resume, &caller)?;
    }
    let view = backend.session(&session)?;
    if !args.amounts.is_empty() {
        let amounts: Vec<String> = args.amounts.iter().map(|amount| amount.phrase()).collect();
        context.out.info(format!("{} now has a budget of {}.", view.short, amounts.join(" and ")));
    }
    show(context, vec![view])
}

/// Sets the budget of a session, and resumes it if `resume` is set and its budget holds it.
pub(super) fn set(
    context: &Context,
    backend: &mut Backend<'_>,
    session: &SessionKey,
    amounts: &[BudgetAmount],
    resume: bool,
    caller: &Caller,
) -> Result<(), CommandError> {
    if resume {
        refuse_unless_budget_holds(backend, session, amounts)?;
    }
    let mut decide = |decision| {
        let caller = Some(Box::new(caller.clone()));
        backend.decide(&DecideRequest::new(session.clone(), decision).by(user(context)).caller(caller))
    };
    for amount in amounts {
        decide((*amount).into())?;
    }
    if resume {
        decide(OperatorDecision::RESUME)?;
    }
    Ok(())
}

/// Fails if something other than a budget holds the session: a larger budget does not solve a loop.
fn refuse_unless_budget_holds(
    backend: &mut Backend<'_>,
    session: &SessionKey,
    amounts: &[BudgetAmount],
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
    let amounts: Vec<String> = amounts.iter().map(ToString::to_string).collect();
    Err(CommandError::new(format!("no budget holds {}, so `belay budget` does not resume it", view.short))
        .cause(reason)
        .hint(format!("resume it with `belay resume {}`; nothing was changed", view.short))
        .hint(format!("to change only the budget: `belay budget {} {}`", view.short, amounts.join(" "))))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_money_and_tokens() {
        for (text, amount) in [
            ("2.50usd", BudgetAmount::Money(2_500_000)),
            ("$0.1", BudgetAmount::Money(100_000)),
            ("5 USD", BudgetAmount::Money(5_000_000)),
            ("500k", BudgetAmount::Tokens(500_000)),
            ("1.5M", BudgetAmount::Tokens(1_500_000)),
            ("200 tokens", BudgetAmount::Tokens(200)),
            ("2M tokens", BudgetAmount::Tokens(2_000_000)),
        ] {
            assert_eq!(text.parse(), Ok(amount), "{text}");
        }
        for text in [
            "",
            "usd",
            "k",
            "-1usd",
            "-infusd",
            "infusd",
            "nanusd",
            "$-1",
            "-1e-10usd",
            "five",
            "1e99usd",
            "NaN",
            "infk",
            "12€",
        ] {
            assert!(text.parse::<BudgetAmount>().is_err_and(|why| why.contains("invalid amount")), "{text}");
        }
    }

    #[test]
    fn rejects_ambiguous_amounts() {
        for text in ["5", "2.50", "500000"] {
            let why = text.parse::<BudgetAmount>().unwrap_err();
            assert!(why.contains("has no unit") && why.contains(&format!("{text}usd")), "{why}");
        }
        for text in ["0", "0usd", "$0", "0k", "0 tokens", "0.0000001usd", "0.0000006usd", "1e-300usd", "-0usd"] {
            assert!(text.parse::<BudgetAmount>().unwrap_err().contains("must be positive"), "{text}");
        }
    }
}
