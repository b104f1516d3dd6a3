//! `belay sessions`: the list.

use belay_ipc::{SessionsRequest, SessionsResponse};
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::exit_status::ExitStatus;
use crate::format::{count, money, now, relative_past, short_path};
use crate::output::Table;

#[derive(Debug, Args)]
pub(crate) struct SessionsArgs {
    /// Only sessions in this state: active, paused, killed, ended, archived.
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    state: Vec<State>,
    /// Only this agent, by any of its names.
    #[arg(long)]
    agent: Option<String>,
    /// Only this project.
    #[arg(long, value_name = "DIR")]
    project: Option<String>,
    /// Archived ones too.
    #[arg(long, short)]
    all: bool,
    /// At most this many.
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
    fn word(self) -> &'static str {
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
        states: args.state.iter().map(|state| state.word().to_owned()).collect(),
        agent: args.agent.as_deref().map(|name| belay_agents::canonical_id(name).to_owned()),
        project: args.project.clone(),
        archived: args.all,
        limit: args.limit.max(1),
        ..SessionsRequest::default()
    };
    let SessionsResponse { sessions, more } = Backend::open(context)?.read(&request)?;
    if context.out.json {
        context.out.json(&json!({ "sessions": sessions, "more": more }))?;
        return Ok(ExitStatus::Done);
    }
    if sessions.is_empty() {
        let narrowed = !args.state.is_empty() || args.agent.is_some() || args.project.is_some();
        context.out.info(match narrowed {
            true => "No session matches.",
            false => {
                "No session has been seen yet.\nPut your agents on the rope with `belay init`, or see what they did so \
                 far with `belay audit`."
            }
        });
        return Ok(ExitStatus::Done);
    }
    let now = now();
    let mut grid =
        Table::new(&["session", "state", "last", "calls", "tokens", "cost", "project", "model"]).right(&[3, 4, 5]);
    for session in sessions {
        grid.row(vec![
            session.short,
            session.state,
            relative_past(session.last_at, now),
            count(session.calls),
            of(count(session.tokens + session.sub_agents.tokens), session.budget.tokens.map(count)),
            of(money(session.cost_micros + session.sub_agents.cost_micros), session.budget.cost_micros.map(money)),
            short_path(session.project.as_deref().or(session.cwd.as_deref())),
            session.model.unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    grid.print(&context.out)?;
    if more {
        context.out.info(format!("These are the newest {}; more with --limit.", args.limit));
    }
    Ok(ExitStatus::Done)
}

/// What was spent, and of how much.
fn of(spent: String, budget: Option<String>) -> String {
    budget.map_or_else(|| spent.clone(), |budget| format!("{spent} of {budget}"))
}
