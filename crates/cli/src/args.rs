//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::commands::*;

/// Belay supervises AI coding agents: it records what they do, detects loops, and intervenes.
#[derive(Debug, Parser)]
#[command(name = "belay", version, max_term_width = 100, arg_required_else_help = true, after_help = crate::exit_status::help())]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Directory for both state and user configuration [env: BELAY_HOME].
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) home: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// Set a configuration value for this command.
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", help_heading = "Global options")]
    pub(crate) set: Vec<String>,
    /// Print only data and errors.
    #[arg(long, short, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the resident process: socket, proxy, status page and API.
    #[command(after_long_help = "Examples:\n  belay serve\n  belay serve --listen 127.0.0.1:9000")]
    Serve(serve::ServeArgs),
    /// Run an agent under supervision without changing its settings.
    #[command(visible_alias = "start")]
    #[command(
        after_long_help = "Examples:\n  belay run claude\n  belay run --budget 2.50usd codex exec \"fix the tests\"\n  belay run --dry-run gemini"
    )]
    Run(run::RunArgs),
    /// Show and change the budgets of sessions.
    #[command(after_long_help = "Examples:\n  belay budget")]
    Budget(budget::BudgetArgs),
    /// Show a looping agent being nudged, paused and resumed; works offline.
    #[command(after_long_help = "Examples:\n  belay demo")]
    Demo(demo::DemoArgs),
    /// Stop the resident process.
    #[command(after_long_help = "Examples:\n  belay stop")]
    Stop(stop::StopArgs),
    /// Show the status of the resident process.
    #[command(after_long_help = "Examples:\n  belay status\n  belay status --json")]
    Status(status::StatusArgs),
    /// List sessions, newest first.
    #[command(after_long_help = "Examples:\n  belay sessions\n  belay sessions --json")]
    Sessions(sessions::SessionsArgs),
    /// Show one session in detail.
    #[command(after_long_help = "Examples:\n  belay show claude:0190")]
    Show(show::ShowArgs),
    /// Read the event log, or post events to it.
    #[command(subcommand)]
    Events(events::EventsCommand),
    /// Install hooks into agents' settings; every change is shown first.
    #[command(after_long_help = "Examples:\n  belay init\n  belay init --agent codex --yes")]
    Init(init::InitArgs),
    /// Remove the hooks and restore agents' settings.
    #[command(after_long_help = "Examples:\n  belay uninit")]
    Uninit(init::UninitArgs),
    /// Wait for a condition without spending tokens; never counts as a stall.
    Wait(wait::WaitArgs),
    /// Send a test alert through every channel.
    Notify(notify::NotifyArgs),
    /// Show the tombstones: what the next sessions of a project learn about earlier ones.
    #[command(after_long_help = "Examples:\n  belay tombstones")]
    Tombstones(tombstones::TombstonesArgs),
    /// Show how headless runs in a directory ended (for CI).
    Result(result::ResultArgs),
    /// Print one line about a session, for Claude Code's status bar.
    Statusline(statusline::StatuslineArgs),
    /// Import the settings of another tool.
    #[command(subcommand)]
    Import(import::ImportCommand),
    /// Answer an agent's hook (called by agents, installed by `belay init`).
    #[command(hide = true)]
    Hook(hook::HookArgs),
    /// Pause a session: its next call is held until you resume it.
    #[command(after_long_help = "Examples:\n  belay pause claude:0190")]
    Pause(decide::PauseArgs),
    /// Resume a held session.
    #[command(after_long_help = "Examples:\n  belay resume claude:0190")]
    Resume(decide::ResumeArgs),
    /// Acknowledge an incident; the session stays held.
    Ack(decide::AckArgs),
    /// Kill a session permanently.
    #[command(after_long_help = "Examples:\n  belay kill claude:0190")]
    Kill(decide::KillArgs),
    /// Discard the evidence against a session; the log is kept.
    #[command(after_long_help = "Examples:\n  belay reset claude:0190")]
    Reset(decide::ResetArgs),
    /// Hide a session from the lists.
    #[command(after_long_help = "Examples:\n  belay archive claude:0190")]
    Archive(decide::ArchiveArgs),
    /// List incidents that need attention.
    #[command(after_long_help = "Examples:\n  belay incidents")]
    Incidents(incidents::IncidentsArgs),
    /// Explain an intervention, with the calls it is based on.
    #[command(after_long_help = "Examples:\n  belay explain claude:0190")]
    Explain(explain::ExplainArgs),
    /// Mark a finding as acceptable; it no longer counts in that session.
    Allow(allow::AllowArgs),
    /// Replay your past sessions: what they cost, and where they looped.
    #[command(after_long_help = "Examples:\n  belay audit\n  belay audit --json")]
    Audit(audit::AuditArgs),
    /// Show and change the configuration.
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Trust a project's .belay.toml.
    Trust(trust::TrustArgs),
    /// Check the setup and suggest fixes.
    #[command(after_long_help = "Examples:\n  belay doctor")]
    Doctor(doctor::DoctorArgs),
    /// Print the JSON Schema of events, answers, configuration and output.
    #[command(after_long_help = "Examples:\n  belay schema event")]
    Schema(schema::SchemaArgs),
    /// Print a completion script for a shell.
    #[command(after_long_help = "Examples:\n  belay completions bash")]
    Completions(completions::CompletionsArgs),
    /// Print the manual page.
    Man(completions::ManArgs),
}
