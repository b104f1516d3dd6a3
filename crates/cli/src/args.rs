//! The command line: global options, commands, and the grouped `--help`.

use std::path::PathBuf;

use belay_config::PathArgs;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

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
    /// User configuration file, if it is not `config.toml` in the directory of `--home`.
    #[arg(long, global = true, value_name = "FILE", hide = true)]
    pub(crate) user_config: Option<PathBuf>,
    /// Directory of the socket if its path in the state directory would be too long.
    #[arg(long, global = true, value_name = "DIR", hide = true)]
    pub(crate) runtime_dir: Option<PathBuf>,
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

impl Global {
    pub(crate) fn paths(&self) -> PathArgs {
        let Self { home, user_config, runtime_dir, .. } = self.clone();
        PathArgs { home, user_config, runtime_dir }
    }
}

/// Commands by purpose, in the order of `--help`.
const GROUPS: &[(&str, &[&str])] = &[
    ("Supervise agents", &["run", "exec", "review", "init", "uninit", "serve", "open", "stop", "status", "demo"]),
    (
        "Inspect",
        &["top", "sessions", "show", "incidents", "approvals", "explain", "events", "tombstones", "audit", "prices"],
    ),
    ("Decide", &["approve", "deny", "pause", "resume", "ack", "allow", "kill", "reset", "archive", "seen", "budget"]),
    ("Configure", &["config", "trust", "notify", "doctor", "import"]),
    ("Scripts and agents", &["wait", "result", "statusline", "schema", "completions", "man", "help"]),
];

impl Cli {
    /// Parses the arguments of this process; prints help or a usage error and exits if necessary.
    pub(crate) fn from_process() -> Self {
        let matches = Self::grouped_command().get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// The command with its subcommands listed by group, which clap cannot do itself.
    fn grouped_command() -> clap::Command {
        let mut command = Self::command();
        command.build();
        let mut groups = String::new();
        for (title, names) in GROUPS {
            groups.push_str(&format!("{title}:\n"));
            for name in *names {
                let about = command.find_subcommand(name).and_then(clap::Command::get_about);
                let about = about.map(ToString::to_string).unwrap_or_default();
                groups.push_str(&format!("  {name:<13}{about}\n"));
            }
            groups.push('\n');
        }
        let template = format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
        );
        Self::command().help_template(template)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the resident process: socket, proxy, dashboard and API.
    #[command(
        after_help = "Examples:\n  belay serve\n  belay serve --listen 127.0.0.1:9000\n  belay serve --listen 0.0.0.0:8787 --tls-self-signed"
    )]
    Serve(serve::ServeArgs),
    /// Open the dashboard in the browser, logged in.
    #[command(after_help = "Examples:\n  belay open\n  belay open --print")]
    Open(open::OpenArgs),
    /// Run an agent under supervision without changing its settings.
    #[command(visible_alias = "start")]
    #[command(
        after_help = "Examples:\n  belay run claude\n  belay run --budget 2.50usd codex exec \"fix the tests\"\n  belay run --dry-run gemini"
    )]
    Run(run::RunArgs),
    /// Run one prompt without a terminal, under supervision.
    #[command(
        after_help = "The answer is printed to stdout, progress to stderr; with --json, every event as a JSON line.\n\nExamples:\n  belay exec claude \"fix the failing test\"\n  belay exec codex --access read-only -f review.md --timeout 10m --budget 1usd"
    )]
    Exec(exec::ExecArgs),
    /// One agent builds, others review, until the work is right.
    #[command(
        subcommand,
        after_help = "Examples:\n  belay review start \"Add idempotency keys\" --reviewer codex --accept \"cargo test\"\n  belay review list\n  belay review land r-7f3k2m"
    )]
    Review(review::ReviewCommand),
    /// Show and change the budgets of sessions.
    #[command(after_help = "Examples:\n  belay budget\n  belay budget claude:0190 5usd --resume")]
    Budget(budget::BudgetArgs),
    /// Show a looping agent being nudged, paused and resumed; works offline.
    #[command(after_help = "Examples:\n  belay demo")]
    Demo(demo::DemoArgs),
    /// Stop the resident process.
    #[command(after_help = "Examples:\n  belay stop")]
    Stop(stop::StopArgs),
    /// Show the status of the resident process.
    #[command(after_help = "Examples:\n  belay status\n  belay status --json")]
    Status(status::StatusArgs),
    /// Show live who needs you and what every agent does, and decide there.
    #[command(after_help = "Examples:\n  belay top\n  belay top claude:0190\n  belay top --once")]
    Top(top::TopArgs),
    /// List sessions, newest first.
    #[command(after_help = "Examples:\n  belay sessions\n  belay sessions --json")]
    Sessions(sessions::SessionsArgs),
    /// Show one session in detail.
    #[command(after_help = "Examples:\n  belay show claude:0190")]
    Show(show::ShowArgs),
    /// Read the event log, or post events to it.
    #[command(subcommand)]
    #[command(after_help = "Examples:\n  belay events tail -f\n  belay events post < events.jsonl")]
    Events(events::EventsCommand),
    /// Install hooks into agents' settings; every change is shown first.
    #[command(after_help = "Examples:\n  belay init\n  belay init --agent codex --yes")]
    Init(init::InitArgs),
    /// Remove the hooks and restore agents' settings.
    #[command(after_help = "Examples:\n  belay uninit\n  belay uninit --agent codex --yes")]
    Uninit(init::UninitArgs),
    /// Wait for a condition without spending tokens; never counts as a stall.
    Wait(wait::WaitArgs),
    /// Send a test alert through every channel.
    Notify(notify::NotifyArgs),
    /// Show the tombstones: what the next sessions of a project learn about earlier ones.
    #[command(after_help = "Examples:\n  belay tombstones")]
    Tombstones(tombstones::TombstonesArgs),
    /// Show how headless runs in a directory ended (for CI).
    Result(result::ResultArgs),
    /// Print one line about a session, for Claude Code's status bar.
    #[command(after_help = "Examples:\n  echo '{\"session_id\": \"0190\"}' | belay statusline")]
    Statusline(statusline::StatuslineArgs),
    /// Import settings, sessions and tasks of another tool.
    #[command(subcommand)]
    #[command(after_help = "Examples:\n  belay import heartbeat --dry-run\n  belay import loop-watchdog")]
    Import(import::ImportCommand),
    /// Answer an agent's hook (called by agents, installed by `belay init`).
    #[command(hide = true)]
    Hook(hook::HookArgs),
    /// List permission prompts of agents that wait for an answer.
    #[command(after_help = "Examples:\n  belay approvals\n  belay approvals --json")]
    Approvals(approvals::ApprovalsArgs),
    /// Allow the call of a permission prompt, once.
    #[command(after_help = "Examples:\n  belay approve apr-1f3a90c27b5d4e68")]
    Approve(approvals::ApproveArgs),
    /// Deny the call of a permission prompt; the agent reads the reason.
    #[command(after_help = "Examples:\n  belay deny apr-1f3a90c2 --why \"use the staging database\"")]
    Deny(approvals::DenyArgs),
    /// Pause a session: its next call is held until you resume it.
    #[command(after_help = "Examples:\n  belay pause claude:0190")]
    Pause(decide::PauseArgs),
    /// Resume a held session.
    #[command(
        after_help = "Examples:\n  belay resume claude:0190\n  belay resume claude:0190 --plan \"free the port first\""
    )]
    Resume(decide::ResumeArgs),
    /// Acknowledge an incident; the session stays held.
    #[command(after_help = "Examples:\n  belay ack claude:0190 -m \"looking into it\"")]
    Ack(decide::AckArgs),
    /// Kill a session permanently.
    #[command(after_help = "Examples:\n  belay kill claude:0190")]
    Kill(decide::KillArgs),
    /// Discard the evidence against a session; the log is kept.
    #[command(after_help = "Examples:\n  belay reset claude:0190")]
    Reset(decide::ResetArgs),
    /// Hide a session from the lists.
    #[command(after_help = "Examples:\n  belay archive claude:0190")]
    Archive(decide::ArchiveArgs),
    /// Mark a finished session as seen.
    #[command(after_help = "Examples:\n  belay seen claude:0190")]
    Seen(decide::SeenArgs),
    /// List incidents that need attention.
    #[command(after_help = "Examples:\n  belay incidents")]
    Incidents(incidents::IncidentsArgs),
    /// Explain an intervention, with the calls it is based on.
    #[command(after_help = "Examples:\n  belay explain claude:0190")]
    Explain(explain::ExplainArgs),
    /// Mark a finding as acceptable; it no longer counts in that session and project.
    #[command(after_help = "Examples:\n  belay allow claude:0190")]
    Allow(allow::AllowArgs),
    /// Replay your past sessions: what they cost, and where they looped.
    #[command(after_help = "Examples:\n  belay audit\n  belay audit --since 30d --html report.html")]
    Audit(audit::AuditArgs),
    /// Show what models cost, and since when.
    #[command(after_help = "Examples:\n  belay prices\n  belay prices claude-sonnet-4-5")]
    Prices(prices::PricesArgs),
    /// Show and change the configuration.
    #[command(subcommand)]
    #[command(
        after_help = "Examples:\n  belay config list detect\n  belay config set serve.listen 127.0.0.1:9000\n  belay config explain detect.max_nudges"
    )]
    Config(config::ConfigCommand),
    /// Trust a project's .belay.toml, or one of its prompts.
    #[command(after_help = "Examples:\n  belay trust\n  belay trust --list")]
    Trust(trust::TrustArgs),
    /// Check the setup and suggest fixes.
    #[command(after_help = "Examples:\n  belay doctor")]
    Doctor(doctor::DoctorArgs),
    /// Print the JSON Schema of events, answers, configuration and output.
    #[command(after_help = "Examples:\n  belay schema event")]
    Schema(schema::SchemaArgs),
    /// Print a completion script for a shell.
    #[command(after_help = "Examples:\n  belay completions bash")]
    Completions(completions::CompletionsArgs),
    /// Print the manual page.
    #[command(after_help = "Examples:\n  belay man | man -l -\n  belay man --out man1")]
    Man(completions::ManArgs),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_command_is_in_one_group() {
        let mut command = Cli::command();
        command.build();
        let mut visible: Vec<&str> =
            command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        visible.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(visible, grouped);
    }

    #[test]
    fn every_visible_command_has_examples() {
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:\n  "), "{}", command.get_name());
        }
    }
}
