//! `belay incidents`: what wants a person.

use belay_server::views::IncidentView;
use belay_store::IncidentQuery;
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::context::Context;
use crate::exit_status::ExitStatus;
use crate::format::{now, relative_past};
use crate::output::Table;

#[derive(Debug, Args)]
pub(crate) struct IncidentsArgs {
    /// Only of this session.
    id: Option<String>,
    /// Closed ones too.
    #[arg(long, short)]
    all: bool,
    /// At most this many.
    #[arg(long, short = 'n', default_value_t = 100, value_name = "N")]
    limit: usize,
}

pub(crate) fn run(context: &Context, args: &IncidentsArgs) -> CommandResult {
    let (store, session) = match &args.id {
        Some(id) => {
            let (store, key) = context.session(id)?;
            (Some(store), Some(key))
        }
        None => (context.store()?, None),
    };
    let query = IncidentQuery { session, closed: args.all, limit: args.limit.max(1) };
    let incidents = match &store {
        Some(store) => store.incidents(&query)?,
        None => Vec::new(),
    };
    let keys: Vec<_> = incidents.iter().map(|incident| incident.session.clone()).collect();
    let views: Vec<IncidentView> = incidents.into_iter().map(IncidentView::from).collect();
    if context.out.json {
        context.out.json(&json!({ "incidents": views }))?;
        return Ok(ExitStatus::Done);
    }
    let Some(store) = store.filter(|_| !views.is_empty()) else {
        context.out.info(if args.all { "There has been no incident." } else { "There is no open incident." });
        return Ok(ExitStatus::Done);
    };
    let now = now();
    let mut grid = Table::new(&["incident", "session", "state", "opened", "what happened"]);
    for (view, short) in views.into_iter().zip(store.short_names(&keys, 6)?) {
        grid.row(vec![view.id, short, view.state.to_owned(), relative_past(view.opened_at, now), view.sentence]);
    }
    grid.print(&context.out)?;
    context.out.info("`belay explain ID` tells why, `belay resume SESSION` lets it go on.");
    Ok(ExitStatus::Done)
}
