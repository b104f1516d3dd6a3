//! `belay events`: the log, in and out.

mod post;
mod tail;

use clap::Subcommand;

use super::CommandResult;
use crate::context::Context;

#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    /// Show the newest events, and follow them with -f.
    Tail(tail::TailArgs),
    /// Take events from stdin, one JSON object a line; prints one answer a line.
    Post(post::PostArgs),
}

pub(crate) fn run(context: &Context, command: &EventsCommand) -> CommandResult {
    match command {
        EventsCommand::Tail(args) => tail::run(context, args),
        EventsCommand::Post(args) => post::run(context, args),
    }
}
