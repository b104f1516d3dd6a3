//! Proposed changes, and the outcome per agent.

use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use belay_agents::UserDirs;
use belay_agents::install::{FileChange, InstallContext, Scope};

use belay_hooks::install::{InstallRecord, diff};
use serde_json::{Value, json};

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::single_line;

/// The outcome for one agent.
#[derive(Debug)]
pub(super) enum Outcome {
    /// Files were changed. From files that were `edited` since the installation, only Belay's entries were removed; copies
    /// of edited files that had to be deleted are listed in `aside`.
    Done {
        changes: Vec<FileChange>,
        edited: Vec<PathBuf>,
        aside: Vec<PathBuf>,
    },
    /// Changes that a dry run would make.
    Planned(Vec<FileChange>),
    /// Nothing to do.
    Already,
    Declined,
    /// Confirmation was required, but there is no terminal.
    Unasked,
    /// The hooks are installed, but the self-test failed.
    Silent(String),
    /// The self-test failed, and the files are as before.
    RolledBack(String),
    Failed(CommandError),
}

impl Outcome {
    fn as_str(&self) -> &'static str {
        match self {
            Self::Done { .. } => "done",
            Self::Planned(_) => "planned",
            Self::Already => "already",
            Self::Declined => "declined",
            Self::Unasked => "unasked",
            Self::Silent(_) => "silent",
            Self::RolledBack(_) => "rolled_back",
            Self::Failed(_) => "failed",
        }
    }

    fn row(&self) -> Value {
        let mut row = json!({ "outcome": self.as_str() });
        match self {
            Self::Done { changes, edited, aside } => {
                row["changes"] = changes.iter().map(change_json).collect();
                row["edited"] = json!(edited);
                row["kept"] = json!(aside);
            }
            Self::Planned(changes) => row["changes"] = changes.iter().map(change_json).collect(),
            Self::Silent(problem) | Self::RolledBack(problem) => row["problem"] = problem.as_str().into(),
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
            Self::Declined | Self::Unasked => format!("--  {name}: not changed"),
            Self::Silent(problem) => {
                format!("XX  {name}: installed, but the test hook failed: {problem}")
            }
            Self::RolledBack(problem) => format!("XX  {name}: not installed, because the test hook failed: {problem}"),
            Self::Failed(error) => format!("XX  {name}: {}", error.message()),
        }
    }

    /// Additional notes for the user.
    fn remarks(&self) -> Vec<String> {
        match self {
            Self::Done { edited, aside, .. } => {
                let edited = edited.iter().map(|path| {
                    format!("{} was edited since `belay init`: only Belay's entries were removed", tilde(path))
                });
                let aside = aside.iter().map(|path| format!("a copy of your edited file is in {}", tilde(path)));
                edited.chain(aside).collect()
            }
            Self::Failed(error) => error.hints().to_vec(),
            _ => Vec::new(),
        }
    }
}

fn change_json(change: &FileChange) -> Value {
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
    failed: bool,
    unasked: bool,
    /// The hooks of an agent are as requested.
    is_any_done: bool,
    is_any_declined: bool,
}

impl<'a> Report<'a> {
    pub(super) fn new(context: &'a Context, what: &'static str, dry_run: bool) -> Self {
        Self {
            context,
            what,
            dry_run,
            rows: Vec::new(),
            failed: false,
            unasked: false,
            is_any_done: false,
            is_any_declined: false,
        }
    }

    pub(super) fn add(&mut self, agent: &str, name: &str, outcome: Outcome, notes: Vec<String>) -> std::io::Result<()> {
        self.failed |=
            matches!(outcome, Outcome::Silent(_) | Outcome::RolledBack(_) | Outcome::Failed(_) | Outcome::Unasked);
        self.unasked |= matches!(outcome, Outcome::Unasked);
        self.is_any_done |= matches!(outcome, Outcome::Done { .. } | Outcome::Already);
        self.is_any_declined |= matches!(outcome, Outcome::Declined);
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

    /// Lists hooks in other locations, which this command does not remove.
    pub(super) fn list_other_locations(&self, records: &[InstallRecord], setting: &InstallContext<'_>) {
        for record in records {
            let here = match (&record.project, setting.scope) {
                (None, Scope::User) => true,
                (Some(project), Scope::Project) => project == setting.project,
                _ => false,
            };
            let message = match &record.project {
                Some(project) => format!(
                    "{} also has hooks in {}; remove them with `belay uninit --project` there",
                    record.agent,
                    tilde(project)
                ),
                None => {
                    format!("{} also has hooks in your own settings; remove them with `belay uninit`", record.agent)
                }
            };
            if !here {
                self.context.out.info(format!("{message}."));
            }
        }
    }

    pub(super) fn finish(self) -> CommandResult {
        let out = &self.context.out;
        if out.json {
            out.json(&json!({ self.what: self.rows, "dry_run": self.dry_run }))?;
        } else if self.rows.is_empty() {
            out.info("No hooks are installed.");
        } else if self.unasked {
            out.info("Changing an agent's settings needs confirmation, but stdin is not a terminal; pass --yes.");
        } else if self.is_any_declined && !self.is_any_done {
            out.info("Nothing was changed.");
        } else if !self.failed && !self.dry_run && self.what == "init" {
            out.info("New sessions are supervised. List them with `belay sessions`; undo this with `belay uninit`.");
        }
        let is_nothing_done = self.is_any_declined && !self.is_any_done;
        Ok(if self.failed || is_nothing_done { ExitStatus::Failed } else { ExitStatus::Done })
    }
}

/// Prints the proposed changes of each file.
pub(super) fn show(context: &Context, name: &str, changes: &[FileChange]) -> std::io::Result<()> {
    context.out.line(format!("{name}:"))?;
    for change in changes {
        // The target of a symlink is what changes.
        let link = change.path.is_symlink().then(|| format!(" -> {}", tilde(&belay_fs::resolve_link(&change.path))));
        context.out.line(format!("  {}{} ({})", tilde(&change.path), link.unwrap_or_default(), kind(change)))?;
        for line in diff(change).lines() {
            let color = match line.chars().next() {
                Some('+') => Some(AnsiColor::Green.into()),
                Some('-') => Some(AnsiColor::Red.into()),
                _ => None,
            };
            let style = Style::new().fg_color(color);
            context.out.styled_line(&[(Style::new(), "    "), (style, &single_line(line))])?;
        }
    }
    Ok(())
}

/// A path with the home directory abbreviated to `~`.
fn tilde(path: &Path) -> String {
    let home = UserDirs::for_current_user().map(|dirs| dirs.home);
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}
