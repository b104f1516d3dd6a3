//! `belay budget`: what sessions may cost, what they have cost, and raising it.

use std::str::FromStr;

use belay_config::RulesByFolder;
use belay_core::event::OperatorDecision;
use belay_core::rules::BudgetRules;
use belay_ipc::views::SessionView;
use belay_ipc::{DecideRequest, SessionsRequest};
use clap::Args;
use serde_json::json;

use super::CommandResult;
use super::decide::user;
use crate::backend::Backend;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::format::{count, money};
use crate::output::Table;

/// So many tokens, or so much money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetAmount {
    Tokens(u64),
    /// In millionths of a US dollar.
    Money(u64),
}

impl FromStr for BudgetAmount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || format!("`{text}` is no amount; write money as 2.50usd or $2.50, tokens as 500k or 2M");
        let lower = text.trim().to_ascii_lowercase();
        let money = lower.strip_prefix('$').or_else(|| lower.strip_suffix("usd"));
        let tokens = lower.strip_suffix("tokens").or_else(|| lower.ends_with(['k', 'm']).then_some(lower.as_str()));
        let number = |digits: &str, most: f64| {
            let number = digits.trim().parse::<f64>().ok().filter(|number| (0.0..=most).contains(number));
            number.ok_or_else(refuse)
        };
        let amount = match (money, tokens) {
            (Some(money), _) => Self::Money((number(money, 1e9)? * 1e6).round() as u64),
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
                return Err(format!("`{text}` of what? Write money as {lower}usd, tokens as {lower}tokens"));
            }
        };
        match amount {
            // In the settings it stands for no limit, and whoever writes it here means the opposite.
            Self::Tokens(0) | Self::Money(0) => {
                Err(format!("`{text}` is no budget; write what may be spent, such as 2.50usd or 500k"))
            }
            amount => Ok(amount),
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
    /// The session: any unique beginning of `agent:id`. Without one, all active sessions are listed.
    id: Option<String>,
    /// What it may cost from now on, in all: `5usd`, `2M` (tokens), or both.
    #[arg(requires = "id", value_name = "AMOUNT")]
    amounts: Vec<BudgetAmount>,
    /// Let a session that its budget holds go on.
    #[arg(long, requires = "amounts")]
    resume: bool,
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
        let mut decide = |decision| {
            let (session, by) = (session.clone(), user(context));
            backend.decide(&DecideRequest { session, decision, note: String::new(), by })
        };
        for amount in &args.amounts {
            decide((*amount).into())?;
        }
        if args.resume {
            decide(OperatorDecision::Resume { cooldown_secs: None, plan: None, require_plan: false, reset: false })?;
        }
    }
    let view = backend.session(&session)?;
    show(context, vec![view])
}

fn all(context: &Context) -> CommandResult {
    let states = vec!["active".to_owned(), "paused".to_owned()];
    let request = SessionsRequest { states, limit: 200, ..SessionsRequest::default() };
    show(context, Backend::open(context)?.read(&request)?.sessions)
}

/// What the settings allow every session of this folder.
fn limits(context: &Context) -> Result<BudgetRules, CommandError> {
    let (places, env) = (context.places.clone(), context.env.clone());
    let rulesets = RulesByFolder::new(places, env, context.flags()?, Box::new(|_| {}));
    Ok(rulesets.for_folder(std::env::current_dir().ok().as_deref()).budget)
}

fn sentence(limits: &BudgetRules) -> String {
    let usd = |dollars: f64, what: &str| (dollars > 0.0).then(|| format!("${dollars:.2} {what}"));
    let tokens = |tokens: u64, what: &str| (tokens > 0).then(|| format!("{} tokens {what}", count(tokens)));
    let all = [
        tokens(limits.session_tokens, "a session"),
        usd(limits.session_usd, "a session"),
        tokens(limits.day_tokens, "a session and day"),
        usd(limits.day_usd, "a session and day"),
        usd(limits.usd_per_minute, "a minute"),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    match all.is_empty() {
        true => "The settings set no limit: `belay config set detect.budget.session_usd 5` sets one.".to_owned(),
        false => format!("The settings allow {}. A session's own budget wins.", all.join(", ")),
    }
}

fn show(context: &Context, sessions: Vec<SessionView>) -> CommandResult {
    let limits = limits(context)?;
    if context.out.json {
        let rows = sessions.iter().map(|view| {
            json!({
                "session": view.session, "state": view.state,
                "tokens": view.tokens, "cost_micros": view.cost_micros, "budget": view.budget,
            })
        });
        context.out.json(&json!({ "sessions": rows.collect::<Vec<_>>(), "limits": limits }))?;
        return Ok(ExitStatus::Done);
    }
    context.out.info(sentence(&limits));
    if sessions.is_empty() {
        context.out.info("No session is active.");
        return Ok(ExitStatus::Done);
    }
    let mut grid = Table::new(&["session", "state", "tokens", "of", "cost", "of"]).right(&[2, 3, 4, 5]);
    for view in sessions {
        let budget = view.budget;
        grid.row(vec![
            view.short,
            view.state.to_owned(),
            count(view.tokens),
            budget.tokens.map_or_else(|| "-".to_owned(), count),
            money(view.cost_micros),
            budget.cost_micros.map_or_else(|| "-".to_owned(), money),
        ]);
    }
    grid.print(&context.out)?;
    Ok(ExitStatus::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
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
        for text in ["", "usd", "k", "-1usd", "five", "1e99usd", "NaN", "infk", "12€"] {
            assert!(text.parse::<BudgetAmount>().is_err_and(|why| why.contains("is no amount")), "{text}");
        }
    }

    #[test]
    fn an_amount_that_may_mean_its_opposite_is_refused() {
        for text in ["5", "2.50", "500000"] {
            let why = text.parse::<BudgetAmount>().unwrap_err();
            assert!(why.contains("of what?") && why.contains(&format!("{text}usd")), "{why}");
        }
        for text in ["0", "0usd", "$0", "0k", "0 tokens", "0.0000001usd"] {
            assert!(text.parse::<BudgetAmount>().unwrap_err().contains("is no budget"), "{text}");
        }
    }
}
