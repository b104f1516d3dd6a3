//! What became of each agent.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;

use super::{Ended, tilde};
use crate::context::Context;
use crate::exit::Exit;

/// How it went with one agent.
#[derive(Debug, Serialize)]
#[serde(tag = "outcome", content = "detail", rename_all = "snake_case")]
pub(super) enum Outcome {
    /// These files were changed.
    Done(Vec<PathBuf>),
    /// These files would be changed.
    Would(Vec<PathBuf>),
    /// Nothing to do.
    Already,
    /// The person said no.
    Declined,
    /// It is in place, and a hook that was fired did not arrive.
    Silent(String),
    /// It could not be done.
    Failed(String),
}

pub(super) struct Report<'a> {
    context: &'a Context,
    dry_run: bool,
    rows: Vec<serde_json::Value>,
    bad: bool,
}

impl<'a> Report<'a> {
    pub(super) fn new(context: &'a Context, dry_run: bool) -> Self {
        Self { context, dry_run, rows: Vec::new(), bad: false }
    }

    pub(super) fn add(
        &mut self,
        agent: &str,
        name: &str,
        outcome: Outcome,
        note: Option<String>,
    ) -> std::io::Result<()> {
        self.bad |= matches!(outcome, Outcome::Silent(_) | Outcome::Failed(_));
        if self.context.out.json {
            let mut row = serde_json::to_value(&outcome).unwrap_or_default();
            row["agent"] = agent.into();
            if let Some(note) = note {
                row["note"] = note.into();
            }
            self.rows.push(row);
            return Ok(());
        }
        let files = |files: &[PathBuf]| files.iter().map(|file| tilde(file)).collect::<Vec<_>>().join(", ");
        let line = match &outcome {
            Outcome::Done(changed) => format!("ok  {name}: done ({})", files(changed)),
            Outcome::Would(changed) => format!("--  {name}: would change {}", files(changed)),
            Outcome::Already => format!("ok  {name}: nothing to do"),
            Outcome::Declined => format!("--  {name}: left as it is"),
            Outcome::Silent(problem) => {
                format!("XX  {name}: in place, but a hook fired for a test did not arrive: {problem}")
            }
            Outcome::Failed(problem) => format!("XX  {name}: {problem}"),
        };
        self.context.out.line(crate::output::one_line(&line))?;
        if let Some(note) = note.filter(|_| !matches!(outcome, Outcome::Declined)) {
            self.context.out.line(format!("    {note}"))?;
        }
        Ok(())
    }

    pub(super) fn finish(self, what: &str) -> Ended {
        if self.context.out.json {
            self.context.out.json(&json!({ what: self.rows, "dry_run": self.dry_run }))?;
        } else if self.rows.is_empty() && !self.bad && !self.dry_run && what == "init" {
            self.context
                .out
                .say("New sessions are on the rope; `belay sessions` lists them, `belay uninit` undoes this.");
        }
        Ok(if self.bad { Exit::Failed } else { Exit::Done })
    }
}
