//! What would change, and what became of each agent.

use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use belay_agents::UserDirs;
use belay_agents::install::{FileChange, InstallContext, Scope};
use belay_config::atomic_file;
use belay_hooks::install::{InstallRecord, diff};
use serde_json::{Value, json};

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::single_line;

/// How it went with one agent.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It was changed. Somebody had `edited` some of the files, so only our part of them went; what
    /// of that had to go whole is kept `aside`.
    Done { changes: Vec<FileChange>, edited: Vec<PathBuf>, aside: Vec<PathBuf> },
    /// A dry run: these changes are planned.
    Planned(Vec<FileChange>),
    /// Nothing to do.
    Already,
    /// The person said no.
    Declined,
    /// There was nobody to ask.
    Unasked,
    /// It is in place, and a hook that was fired did not arrive.
    Silent(String),
    /// It could not be done.
    Failed(CommandError),
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Self::Done { .. } => "done",
            Self::Planned(_) => "planned",
            Self::Already => "already",
            Self::Declined => "declined",
            Self::Unasked => "unasked",
            Self::Silent(_) => "silent",
            Self::Failed(_) => "failed",
        }
    }

    fn row(&self) -> Value {
        let mut row = json!({ "outcome": self.word() });
        match self {
            Self::Done { changes, edited, aside } => {
                row["changes"] = changes.iter().map(described).collect();
                row["edited"] = json!(edited);
                row["kept"] = json!(aside);
            }
            Self::Planned(changes) => row["changes"] = changes.iter().map(described).collect(),
            Self::Silent(problem) => row["problem"] = problem.as_str().into(),
            Self::Failed(error) => row["problem"] = error.message().into(),
            Self::Already | Self::Declined | Self::Unasked => {}
        }
        row
    }

    fn line(&self, name: &str) -> String {
        let files = |changes: &[FileChange]| changes.iter().map(|c| tilde(&c.path)).collect::<Vec<_>>().join(", ");
        match self {
            Self::Done { changes, .. } => format!("ok  {name}: done ({})", files(changes)),
            Self::Planned(changes) => format!("--  {name}: would change {}", files(changes)),
            Self::Already => format!("ok  {name}: nothing to do"),
            Self::Declined | Self::Unasked => format!("--  {name}: left as it is"),
            Self::Silent(problem) => {
                format!("XX  {name}: in place, but a hook fired for a test did not arrive: {problem}")
            }
            Self::Failed(error) => format!("XX  {name}: {}", error.message()),
        }
    }

    /// What the person should know besides.
    fn remarks(&self) -> Vec<String> {
        match self {
            Self::Done { edited, aside, .. } => {
                let edited = edited.iter().map(|path| {
                    format!("{} was changed since `belay init`: only Belay's part went, the rest stays", tilde(path))
                });
                let aside =
                    aside.iter().map(|path| format!("your version of a removed file is kept in {}", tilde(path)));
                edited.chain(aside).collect()
            }
            Self::Failed(error) => error.hints().to_vec(),
            _ => Vec::new(),
        }
    }
}

fn described(change: &FileChange) -> Value {
    json!({ "path": change.path, "what": kind(change), "diff": diff(change) })
}

fn kind(change: &FileChange) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "new",
        (_, None) => "removed",
        _ => "changed",
    }
}

pub(super) struct Report<'a> {
    context: &'a Context,
    what: &'static str,
    dry_run: bool,
    rows: Vec<Value>,
    bad: bool,
    unasked: bool,
}

impl<'a> Report<'a> {
    pub(super) fn new(context: &'a Context, what: &'static str, dry_run: bool) -> Self {
        Self { context, what, dry_run, rows: Vec::new(), bad: false, unasked: false }
    }

    pub(super) fn add(&mut self, agent: &str, name: &str, outcome: Outcome, notes: Vec<String>) -> std::io::Result<()> {
        self.bad |= matches!(outcome, Outcome::Silent(_) | Outcome::Failed(_) | Outcome::Unasked);
        self.unasked |= matches!(outcome, Outcome::Unasked);
        let mut row = outcome.row();
        row["agent"] = agent.into();
        if !notes.is_empty() {
            row["notes"] = json!(notes);
        }
        self.rows.push(row);
        if self.context.out.json {
            return Ok(());
        }
        self.context.out.line(single_line(&outcome.line(name)))?;
        let notes = if matches!(outcome, Outcome::Declined | Outcome::Unasked) { Vec::new() } else { notes };
        for remark in outcome.remarks().into_iter().chain(notes) {
            self.context.out.line(format!("    {}", single_line(&remark)))?;
        }
        Ok(())
    }

    /// Hooks in other places than those that were looked at: nobody should think they are gone.
    pub(super) fn elsewhere(&self, receipts: &[InstallRecord], setting: &InstallContext<'_>) {
        for receipt in receipts {
            let here = match (&receipt.project, setting.scope) {
                (None, Scope::User) => true,
                (Some(project), Scope::Project) => project == setting.project,
                _ => false,
            };
            let place = match &receipt.project {
                Some(project) => format!("{}; `belay uninit --project` there", tilde(project)),
                None => "your own settings; `belay uninit`".to_owned(),
            };
            if !here {
                self.context.out.info(format!("{} also has hooks in {place} takes them out.", receipt.agent));
            }
        }
    }

    pub(super) fn finish(self) -> CommandResult {
        let out = &self.context.out;
        if out.json {
            out.json(&json!({ self.what: self.rows, "dry_run": self.dry_run }))?;
        } else if self.rows.is_empty() {
            out.info("There are no hooks of Belay here.");
        } else if self.unasked {
            out.info("Changing an agent's settings needs your word, and there is no terminal to ask at: add --yes.");
        } else if !self.bad && !self.dry_run && self.what == "init" {
            out.info("New sessions are on the rope; `belay sessions` lists them, `belay uninit` undoes this.");
        }
        Ok(if self.bad { ExitStatus::Failed } else { ExitStatus::Done })
    }
}

/// What would change, file by file.
pub(super) fn show(context: &Context, name: &str, changes: &[FileChange]) -> std::io::Result<()> {
    context.out.line(format!("{name}:"))?;
    for change in changes {
        // Where a link leads is what changes.
        let link = change.path.is_symlink().then(|| format!(" -> {}", tilde(&atomic_file::resolve_link(&change.path))));
        context.out.line(format!("  {}{} ({})", tilde(&change.path), link.unwrap_or_default(), kind(change)))?;
        for line in diff(change).lines() {
            // The sign says it; colour only helps.
            let color = match line.chars().next() {
                Some('+') => Some(AnsiColor::Green.into()),
                Some('-') => Some(AnsiColor::Red.into()),
                _ => None,
            };
            let style = Style::new().fg_color(color);
            context.out.line(format!("    {style}{}{style:#}", single_line(line)))?;
        }
    }
    Ok(())
}

/// A path the way people write it.
fn tilde(path: &Path) -> String {
    let home = UserDirs::for_current_user().map(|dirs| dirs.home);
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}
