//! `belay incidents`: lists incidents that need attention.

use belay_clock::now;
use belay_core::SessionKey;
use belay_ipc::IncidentsRequest;
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::exit_status::ExitStatus;
use crate::format::relative_past;
use crate::output::Table;

#[derive(Debug, Args)]
pub(crate) struct IncidentsArgs {
    /// Only incidents of this session.
    id: Option<String>,
    /// Include closed incidents.
    #[arg(long, short)]
    all: bool,
    /// Maximum number of incidents.
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
        context.out.info(if args.all { "No incidents." } else { "No open incidents." });
        return Ok(ExitStatus::Done);
    }
    let keys = views.iter().filter_map(|view| SessionKey::parse(&view.session)).collect();
    let now = now();
    let is_any_open = views.iter().any(|view| view.closed_at.is_none());
    let mut table = Table::new(&["incident", "session", "state", "opened", "what happened"]);
    for (view, short) in views.into_iter().zip(backend.short_names(keys)?) {
        table.row(vec![view.id, short, view.state, relative_past(view.opened_at, now), view.sentence]);
    }
    table.print(&context.out)?;
    context.out.info(match is_any_open {
        true => "`belay explain ID` shows the reason, `belay resume SESSION` resumes the session.",
        false => "`belay explain ID` shows the reason.",
    });
    Ok(ExitStatus::Done)
}
