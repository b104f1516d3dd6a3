//! One file per command: its arguments and what it does.

pub(crate) mod allow;
pub(crate) mod approvals;
pub(crate) mod audit;
pub(crate) mod budget;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod decide;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod events;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod incidents;
pub(crate) mod init;
pub(crate) mod notify;
pub(crate) mod open;
pub(crate) mod prices;
pub(crate) mod result;
pub(crate) mod review;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod show;
pub(crate) mod status;
pub(crate) mod statusline;
pub(crate) mod stop;
pub(crate) mod tombstones;
pub(crate) mod top;
pub(crate) mod trust;
pub(crate) mod wait;

use crate::args::{Cli, Command};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;

/// How a command ends.
pub(crate) type CommandResult = Result<ExitStatus, CommandError>;

pub(crate) fn run(cli: Cli) -> CommandResult {
    let context = Context::new(cli.global)?;
    match cli.command {
        Command::Serve(args) => serve::run(&context, &args),
        Command::Open(args) => open::run(&context, &args),
        Command::Run(args) => run::run(&context, &args),
        Command::Exec(args) => exec::run(&context, &args),
        Command::Review(command) => review::run(&context, &command),
        Command::Budget(args) => budget::run(&context, &args),
        Command::Demo(args) => demo::run(&context, &args),
        Command::Stop(args) => stop::run(&context, &args),
        Command::Status(args) => status::run(&context, &args),
        Command::Top(args) => top::run(&context, &args),
        Command::Sessions(args) => sessions::run(&context, &args),
        Command::Show(args) => show::run(&context, &args),
        Command::Events(command) => events::run(&context, &command),
        Command::Init(args) => init::init(&context, &args),
        Command::Uninit(args) => init::uninit(&context, &args),
        Command::Notify(args) => notify::run(&context, &args),
        Command::Import(command) => import::run(&context, &command),
        Command::Tombstones(args) => tombstones::run(&context, &args),
        Command::Wait(args) => wait::run(&context, &args),
        Command::Result(args) => result::run(&context, &args),
        Command::Statusline(args) => statusline::run(&context, &args),
        Command::Hook(args) => hook::run(&context, &args),
        Command::Approvals(args) => approvals::list(&context, &args),
        Command::Approve(args) => approvals::approve(&context, &args),
        Command::Deny(args) => approvals::deny(&context, &args),
        Command::Pause(args) => decide::pause(&context, &args),
        Command::Resume(args) => decide::resume(&context, &args),
        Command::Ack(args) => decide::ack(&context, &args),
        Command::Kill(args) => decide::kill(&context, &args),
        Command::Reset(args) => decide::reset(&context, &args),
        Command::Archive(args) => decide::archive(&context, &args),
        Command::Seen(args) => decide::seen(&context, &args),
        Command::Incidents(args) => incidents::run(&context, &args),
        Command::Explain(args) => explain::run(&context, &args),
        Command::Allow(args) => allow::run(&context, &args),
        Command::Prices(args) => prices::run(&context, &args),
        Command::Audit(args) => audit::run(&context, &args),
        Command::Config(command) => config::run(&context, &command),
        Command::Trust(args) => trust::run(&context, &args),
        Command::Doctor(args) => doctor::run(&context, &args),
        Command::Schema(args) => schema::run(&context, &args),
        Command::Completions(args) => completions::run(&context, &args),
        Command::Man(args) => completions::man(&context, &args),
    }
}
