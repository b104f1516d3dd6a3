//! `belay incidents`: what wants a person.

use belay_core::SessionKey;
use belay_ipc::IncidentsRequest;
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::backend::Backend;
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
    let mut backend = Backend::open(context)?;
    let session = args.id.as_deref().map(|id| backend.resolve(id)).transpose()?;
    let request =
        IncidentsRequest { session, closed: args.all, limit: args.limit.max(1), ..IncidentsRequest::default() };
    let views = backend.read(&request)?;
    if context.out.json {
        context.out.json(&json!({ "incidents": views }))?;
        return Ok(ExitStatus::Done);
    }
    if views.is_empty() {
        context.out.info(if args.all { "There has been no incident." } else { "There is no open incident." });
        return Ok(ExitStatus::Done);
    }
    let keys = views.iter().filter_map(|view| SessionKey::parse(&view.session)).collect();
    let now = now();
    let mut grid = Table::new(&["incident", "session", "state", "opened", "what happened"]);
    for (view, short) in views.into_iter().zip(backend.short_names(keys)?) {
        grid.row(vec![view.id, short, view.state, relative_past(view.opened_at, now), view.sentence]);
    }
    grid.print(&context.out)?;
    context.out.info("`belay explain ID` tells why, `belay resume SESSION` lets it go on.");
    Ok(ExitStatus::Done)
}
