//! One file per command: its arguments and what it does.

pub(crate) mod decide;
pub(crate) mod events;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod stop;

use crate::args::{Cli, Command};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

/// How a command ends.
pub(crate) type Ended = Result<Exit, CommandError>;

pub(crate) fn run(cli: Cli) -> Ended {
    let context = Context::new(cli.global)?;
    match cli.command {
        Command::Serve(args) => serve::run(&context, &args),
        Command::Stop(args) => stop::run(&context, &args),
        Command::Status(args) => status::run(&context, &args),
        Command::Sessions(args) => sessions::run(&context, &args),
        Command::Show(args) => show::run(&context, &args),
        Command::Events(command) => events::run(&context, &command),
        Command::Pause(args) => decide::pause(&context, &args),
        Command::Resume(args) => decide::resume(&context, &args),
        Command::Ack(args) => decide::ack(&context, &args),
        Command::Kill(args) => decide::kill(&context, &args),
        Command::Reset(args) => decide::reset(&context, &args),
        Command::Archive(args) => decide::archive(&context, &args),
    }
}
