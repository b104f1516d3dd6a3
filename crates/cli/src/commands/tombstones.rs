//! `belay tombstones`: lists and clears the notes for the next sessions of a project.

use belay_clock::now;
use belay_core::Timestamp;
use belay_ipc::TombstonesRequest;
use belay_ipc::views::TombstoneView;
use belay_store::{Access, Durability, Tombstone};
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::format::{relative_future, relative_past};
use crate::output::Table;
use belay_core::format::pluralize;

#[derive(Debug, Args)]
pub(crate) struct TombstonesArgs {
    /// Only the tombstone of this session, in any project.
    id: Option<String>,
    /// Include all projects.
    #[arg(long, short)]
    all: bool,
    /// Delete the tombstones.
    #[arg(long)]
    clear: bool,
}

pub(crate) fn run(context: &Context, args: &TombstonesArgs) -> CommandResult {
    let now = now();
    let mut backend = Backend::open(context)?;
    let session = args.id.as_deref().map(|id| backend.resolve(id)).transpose()?;
    let project = if args.all || session.is_some() { None } else { Some(here()?) };
    let mut stones = backend.read(&TombstonesRequest { project: project.clone(), now })?;
    stones.retain(|stone| session.as_ref().is_none_or(|key| *key == stone.session));
    if args.clear {
        clear(context, &stones, now)?;
    }
    if context.out.json {
        context.out.json(&json!({ "project": project, "cleared": args.clear, "tombstones": stones }))?;
        return Ok(ExitStatus::Done);
    }
    if stones.is_empty() {
        let place = project.map_or_else(String::new, |project| format!(" for {project}"));
        context.out.info(format!("No tombstones{place}."));
        return Ok(ExitStatus::Done);
    }
    if args.clear {
        context.out.line(format!("Deleted {}.", pluralize(stones.len() as u64, "tombstone")))?;
        return Ok(ExitStatus::Done);
    }
    let keys: Vec<_> = stones.iter().map(|stone| stone.session.clone()).collect();
    let names = backend.short_names(keys)?;
    let mut table = Table::new(&["session", "when", "expires", "pattern", "message to the next session"]);
    for (stone, session) in stones.into_iter().zip(names) {
        table.row(vec![
            session,
            relative_past(stone.at, now),
            relative_future(stone.expires_at, now),
            stone.pattern,
            stone.message,
        ]);
    }
    table.print(&context.out)?;
    context.out.info(
        "Delete one with `belay tombstones SESSION --clear`, or all of this project with `belay tombstones --clear`.",
    );
    Ok(ExitStatus::Done)
}

/// The project of the current directory, as hooks report it.
fn here() -> Result<String, CommandError> {
    let dir = std::env::current_dir()?;
    let dir = dir.to_string_lossy();
    Ok(belay_hooks::local_facts::project_root(&dir).unwrap_or_else(|| dir.into_owned()))
}

fn clear(context: &Context, stones: &[TombstoneView], now: Timestamp) -> Result<(), CommandError> {
    let mut store = belay_store::open(&context.store_url(), Access::Write)?;
    let mut transaction = store.begin(Durability::ProcessCrash)?;
    for stone in stones {
        let TombstoneView { session, project, task, pattern, message, at, .. } = stone.clone();
        transaction.put_tombstone(&Tombstone { session, project, task, pattern, message, at, expires_at: now })?;
    }
    Ok(transaction.commit()?)
}
