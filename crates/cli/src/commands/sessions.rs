//! `belay sessions`: lists sessions.

use belay_clock::now;
use belay_core::format;
use belay_core::session::StateName;
use belay_core::status::StatusValue;
use belay_ipc::views::SessionView;
use belay_ipc::{SessionsRequest, SessionsResponse};
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::exit_status::ExitStatus;
use crate::format::{relative_past, short_path};
use crate::output::Table;

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    /// Only sessions in these states.
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    state: Vec<State>,
    /// Only sessions of this agent.
    #[arg(long)]
    agent: Option<String>,
    /// Only sessions of this project.
    #[arg(long, value_name = "DIR")]
    project: Option<String>,
    /// Include archived sessions.
    #[arg(long, short)]
    all: bool,
    /// Maximum number of sessions.
    #[arg(long, short = 'n', default_value_t = 50, value_name = "N")]
    limit: usize,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum State {
    Active,
    Paused,
    Killed,
    Ended,
    Archived,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Killed => "killed",
            Self::Ended => "ended",
            Self::Archived => "archived",
        }
    }
}

pub(crate) fn run(context: &Context, args: &SessionsArgs) -> CommandResult {
    let request = SessionsRequest {
        states: args.state.iter().map(|state| state.as_str().to_owned()).collect(),
        agent: args.agent.as_deref().map(|name| belay_agents::canonical_id(name).to_owned()),
        project: args.project.clone(),
        archived: args.all,
        limit: args.limit.max(1),
        ..SessionsRequest::default()
    };
    let config_problems = context.config_problems()?;
    let SessionsResponse { sessions, more } = Backend::open(context)?.read(&request)?;
    if context.out.json {
        context.out.json(&json!({ "sessions": sessions, "more": more, "config_problems": config_problems }))?;
        return Ok(ExitStatus::Done);
    }
    if sessions.is_empty() {
        let is_filtered = !args.state.is_empty() || args.agent.is_some() || args.project.is_some();
        context.out.info(match is_filtered {
            true => "No session matches.",
            false => {
                "No sessions yet.\nInstall hooks with `belay init`, or read the existing history with `belay audit`."
            }
        });
        return Ok(ExitStatus::Done);
    }
    let now = now();
    let mut table = Table::new(&["session", "status", "last", "calls", "tokens", "cost", "project", "model"])
        .right_align(&[3, 4, 5]);
    for session in sessions {
        let status = status_word(&session);
        table.row(vec![
            session.short,
            status,
            relative_past(session.last_at, now),
            format::compact(session.calls),
            of_budget(
                format::compact(session.tokens + session.sub_agents.tokens),
                session.budget.tokens.map(format::compact),
            ),
            of_budget(
                format::cost(
                    session.cost_micros + session.sub_agents.cost_micros,
                    session.unpriced_micros + session.sub_agents.unpriced_micros,
                ),
                session.budget.cost_micros.map(format::dollars_or_dash),
            ),
            short_path(session.project.as_deref().or(session.cwd.as_deref())),
            session.model.unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    table.print(&context.out)?;
    if more {
        context.out.info(format!("Showing the newest {}; use --limit to see more.", args.limit));
    }
    Ok(ExitStatus::Done)
}

/// The status; for a held or archived session, its state.
fn status_word(session: &SessionView) -> String {
    match (session.state, session.status.value) {
        (StateName::Archived, _) | (_, StatusValue::Held) => session.state.to_string(),
        _ => session.status.label().to_owned(),
    }
}

/// The amount spent, with the budget if there is one.
fn of_budget(spent: String, budget: Option<String>) -> String {
    budget.map_or_else(|| spent.clone(), |budget| format!("{spent} of {budget}"))
}
