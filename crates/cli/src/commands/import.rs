//! `belay import`: imports the settings of tools that Belay replaces.

use std::path::{Path, PathBuf};

use belay_compat::import::MappedSetting;
use belay_compat::loop_dashboard::{self, FinishedTask};
use belay_compat::loop_watchdog::import::ImportedSession;
use belay_compat::{heartbeat, loop_watchdog};
use belay_config::{ConfigKey, Edit, PROJECT_FILE, Source};
use belay_core::event::OperatorDecision;
use belay_core::{SessionKey, format};
use belay_ipc::{DecideRequest, SessionRequest};
use belay_review_runner::import::ForeignTask;
use clap::Subcommand;
use serde_json::json;

use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// From heartbeat: .heartbeat.yml, HEARTBEAT_* and .heartbeat/patterns.
    Heartbeat {
        /// The project's directory; the current one without it.
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Show what would be written, and write nothing.
        #[arg(long)]
        dry_run: bool,
        /// Take over the webhook that .heartbeat.yml names: look at it first.
        #[arg(long)]
        webhook: bool,
    },
    /// From loop, the review dashboard: LOOP_*, its finished tasks and their files.
    Loop {
        /// The directory its server ran in; the current one without it.
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Show what would be written, and write nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// From Loop Watchdog: LOOP_WATCHDOG_* and the sessions in its state.json.
    LoopWatchdog {
        /// The directory its server ran in; the current one without it.
        #[arg(default_value = ".")]
        dir: PathBuf,
        /// Show what would be written, and write nothing.
        #[arg(long)]
        dry_run: bool,
    },
}

pub(crate) fn run(context: &Context, command: &ImportCommand) -> CommandResult {
    match command {
        ImportCommand::Heartbeat { dir, dry_run, webhook } => {
            let mapped = heartbeat::import::settings(dir, &context.env, *webhook)?;
            if mapped.is_empty() {
                return Err(CommandError::new(format!("there is nothing of heartbeat in {}", dir.display()))
                    .hint("it looks for .heartbeat.yml, .heartbeat/patterns/*.json and HEARTBEAT_* variables"));
            }
            take_over(context, dir, &mapped, &[], *dry_run)
        }
        ImportCommand::Loop { dir, dry_run } => {
            let dir = dir.canonicalize().map_err(|error| {
                CommandError::new(format!("cannot open the directory {}", dir.display())).cause(error)
            })?;
            let mapped = loop_dashboard::settings(&dir, &context.env)?;
            let tasks = loop_dashboard::tasks(&dir, &context.env)?;
            if mapped.is_empty() && tasks.is_empty() {
                return Err(CommandError::new(format!("there is nothing of loop in {}", dir.display()))
                    .hint("it looks for LOOP_* variables, here and in .env, and for loop.db"));
            }
            keep_tasks(context, &tasks, *dry_run)?;
            take_over(context, &dir, &mapped, &[], *dry_run)
        }
        ImportCommand::LoopWatchdog { dir, dry_run } => {
            let mapped = loop_watchdog::import::settings(dir, &context.env);
            let sessions = loop_watchdog::import::sessions(dir, &context.env, context.paths.user_home())?;
            if mapped.is_empty() && sessions.is_empty() {
                return Err(CommandError::new(format!("there is nothing of Loop Watchdog in {}", dir.display()))
                    .hint("it looks for LOOP_WATCHDOG_* variables and .loop_watchdog/state.json, here and at home"));
            }
            take_over(context, dir, &mapped, &sessions, *dry_run)
        }
    }
}

/// Stores the finished tasks of `loop` as review tasks.
fn keep_tasks(context: &Context, tasks: &[FinishedTask], dry_run: bool) -> Result<(), CommandError> {
    let root = belay_review_runner::root(&context.paths);
    for task in tasks {
        let foreign = ForeignTask {
            source: format!("loop {}", task.id),
            title: task.title.clone(),
            prompt: task.prompt.clone(),
            project_dir: task.project_dir.clone(),
            builder: loop_dashboard::BUILDER.to_owned(),
            reviewer: loop_dashboard::REVIEWER.to_owned(),
            rounds: task.rounds.unwrap_or(1),
            is_done: task.status == "done",
            status: task.status.clone(),
            filed_at: task.filed_at.unwrap_or_default(),
            artifacts: task.artifacts.clone(),
        };
        let became = match dry_run {
            true => "would be imported".to_owned(),
            false => match belay_review_runner::import::import(&root, &foreign)? {
                (id, true) => format!("imported as {id}"),
                (id, false) => format!("already imported as {id}"),
            },
        };
        if !context.out.json {
            context.out.line(crate::output::single_line(&format!("task {} ({}): {became}", task.id, task.status)))?;
        }
    }
    Ok(())
}

/// Writes settings and sessions, and shows what became of each.
fn take_over(
    context: &Context,
    dir: &Path,
    mapped: &[MappedSetting],
    sessions: &[ImportedSession],
    dry_run: bool,
) -> CommandResult {
    let project = dir.join(PROJECT_FILE);
    let user = context.paths.config_file().to_path_buf();
    let mut written = Vec::new();
    if !dry_run {
        let trusted = Source::Project { path: project.clone(), trusted: true };
        if write(&project, trusted, mapped.iter().filter(|one| !one.user))? {
            written.push(project.display().to_string());
        }
        if write(&user, Source::User(user.clone()), mapped.iter().filter(|one| one.user))? {
            written.push(user.display().to_string());
        }
    }
    let known = if dry_run { Vec::new() } else { keep(context, sessions)? };
    if context.out.json {
        let sessions: Vec<String> = sessions.iter().map(|kept| kept.key.to_string()).collect();
        context.out.json(&json!({ "imported": mapped, "sessions": sessions, "dry_run": dry_run, "written": written,
                "already_imported": known.iter().map(ToString::to_string).collect::<Vec<_>>() }))?;
        return Ok(ExitStatus::Done);
    }
    for one in mapped {
        let to = one.to.as_ref().map_or_else(|| "(left out)".to_owned(), |(key, value)| format!("{key} = {value}"));
        context.out.line(crate::output::single_line(&format!("{}  ->  {to}", one.from)))?;
        if let Some(note) = &one.note {
            context.out.line(format!("    {note}"))?;
        }
    }
    for kept in sessions {
        let mut held = kept.decisions.iter().map(|(decision, _)| decision);
        let word = held.next_back().map_or("as it was", |decision| match decision {
            OperatorDecision::Kill => "killed",
            OperatorDecision::Pause => "paused",
            _ => "archived",
        });
        let line = match known.contains(&&kept.key) {
            true => format!("session {}: already imported; its state is unchanged", kept.key),
            false => format!("session {}: {} remarks, {word}", kept.key, kept.events.len() - 1),
        };
        context.out.line(crate::output::single_line(&line))?;
    }
    context.out.info(match written.is_empty() {
        true => "Nothing was written.".to_owned(),
        false => format!(
            "Written to {}. Looser settings of a project count once you trust it: `belay trust`.",
            format::list_of(&written)
        ),
    });
    Ok(ExitStatus::Done)
}

/// Puts sessions into the store. Returns those that were there already; their events are recorded once, and decisions
/// about them change nothing.
fn keep<'s>(context: &Context, sessions: &'s [ImportedSession]) -> Result<Vec<&'s SessionKey>, CommandError> {
    let mut already_known = Vec::new();
    let Some(_) = sessions.first() else { return Ok(already_known) };
    let mut backend = Backend::open(context)?;
    for kept in sessions {
        let events: Result<Vec<_>, _> = kept.events.iter().map(serde_json::value::to_raw_value).collect();
        let events = events.map_err(|error| CommandError::new("an event cannot be written").cause(error))?;
        let known = backend.read(&SessionRequest { session: kept.key.clone() })?.is_some();
        backend.observe(&events)?;
        already_known.extend(known.then_some(&kept.key));
        // A repeated import does not revert newer decisions.
        for (decision, note) in kept.decisions.iter().filter(|_| !known) {
            let (session, decision, note) = (kept.key.clone(), decision.clone(), note.clone());
            let request = DecideRequest::new(session, decision).note(note).by(Some("import".to_owned()));
            // Decisions that were made before, in the other tool.
            backend.decide(&request.caller(Some(Box::default())))?;
        }
    }
    Ok(already_known)
}

/// Whether there was anything to write.
fn write<'m>(
    path: &std::path::Path,
    source: Source,
    mapped: impl Iterator<Item = &'m MappedSetting>,
) -> Result<bool, CommandError> {
    let mut wanted = mapped.filter_map(|one| one.to.as_ref()).peekable();
    if wanted.peek().is_none() {
        return Ok(false);
    }
    let mut edit = Edit::open(path, source)?;
    for (key, value) in wanted {
        let parsed = ConfigKey::parse(key).ok_or_else(|| CommandError::new(format!("`{key}` is not a key")))?;
        edit.set(&parsed, value)?;
    }
    edit.save()?;
    Ok(true)
}
