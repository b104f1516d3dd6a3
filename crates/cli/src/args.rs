//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::commands::*;

/// Belay holds the rope for AI coding agents: it sees what they do, tells progress from going in
/// circles, and steps in.
#[derive(Debug, Parser)]
#[command(name = "belay", version, max_term_width = 100, arg_required_else_help = true, after_help = crate::exit_status::help())]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// One folder for state and user configuration together (also BELAY_HOME).
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) home: Option<PathBuf>,
    /// Print JSON for programs instead of tables for people.
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
    /// Set a configuration value for this command.
    #[arg(long = "set", global = true, value_name = "KEY=VALUE", help_heading = "Global options")]
    pub(crate) set: Vec<String>,
    /// Say less: only data and errors.
    #[arg(long, short, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,
}

/// What can be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the resident process: the socket agents' hooks talk to, the page and the API.
    Serve(serve::ServeArgs),
    /// Run an agent on the rope, with nothing of its settings changed.
    #[command(visible_alias = "start")]
    Run(run::RunArgs),
    /// Show what sessions may cost and have cost, and change it.
    Budget(budget::BudgetArgs),
    /// See a looping agent nudged, paused and resumed; no keys, no agent, no network.
    Demo(demo::DemoArgs),
    /// Ask the resident process to finish and leave.
    Stop(stop::StopArgs),
    /// Tell whether the resident process runs and how it is doing.
    Status(status::StatusArgs),
    /// List sessions, newest first.
    Sessions(sessions::SessionsArgs),
    /// Show everything about one session.
    Show(show::ShowArgs),
    /// Read or feed the event log.
    #[command(subcommand)]
    Events(events::EventsCommand),
    /// Put agents on the rope: hooks into their settings, shown before they are written.
    Init(init::InitArgs),
    /// Take agents off the rope: their settings as they were before.
    Uninit(init::UninitArgs),
    /// Wait for something without spending a token; an agent that waits so is not stuck.
    Wait(wait::WaitArgs),
    /// Send a test message through every channel news goes through, and tell how it went.
    Notify(notify::NotifyArgs),
    /// What the next sessions of a project are told about those before them.
    Tombstones(tombstones::TombstonesArgs),
    /// How headless runs in this folder ended (for CI).
    Result(result::ResultArgs),
    /// One line about a session, for Claude Code's status bar.
    Statusline(statusline::StatuslineArgs),
    /// Take over the settings of another tool.
    #[command(subcommand)]
    Import(import::ImportCommand),
    /// Answer an agent's hook (called by agents, installed by `belay init`).
    Hook(hook::HookArgs),
    /// Hold a session: its next call waits until a person resumes it.
    Pause(decide::PauseArgs),
    /// Let a held session go on.
    Resume(decide::ResumeArgs),
    /// Say that you have seen an incident; the session stays held.
    Ack(decide::AckArgs),
    /// Stop a session for good.
    Kill(decide::KillArgs),
    /// Forget the evidence against a session; the log stays.
    Reset(decide::ResetArgs),
    /// Take a session out of the lists.
    Archive(decide::ArchiveArgs),
    /// List what wants a person.
    Incidents(incidents::IncidentsArgs),
    /// Tell why Belay stepped in, with the calls it rests on.
    Explain(explain::ExplainArgs),
    /// Say that a finding is fine: it never counts again in that session.
    Allow(allow::AllowArgs),
    /// Replay the sessions you already had: what they cost, where they went in circles.
    Audit(audit::AuditArgs),
    /// Show and change the configuration.
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Accept what a project's .belay.toml says.
    Trust(trust::TrustArgs),
    /// Look for what is wrong and say how to mend it.
    Doctor(doctor::DoctorArgs),
    /// Print the JSON Schema of events, answers, configuration and output.
    Schema(schema::SchemaArgs),
    /// Print a completion script for a shell.
    Completions(completions::CompletionsArgs),
    /// Print the manual page.
    Man(completions::ManArgs),
}
