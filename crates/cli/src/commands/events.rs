//! `belay events`: reads the event log and posts events.

mod post;
mod tail;

use clap::Subcommand;

use super::CommandResult;
use crate::context::Context;

#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    /// Show the newest events; -f follows the log.
    Tail(tail::TailArgs),
    /// Post events from stdin, one JSON object per line; prints one result per line.
    Post(post::PostArgs),
}

pub(crate) fn run(context: &Context, command: &EventsCommand) -> CommandResult {
    match command {
        EventsCommand::Tail(args) => tail::run(context, args),
        EventsCommand::Post(args) => post::run(context, args),
    }
}
