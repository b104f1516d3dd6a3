//! `belay doctor`: looks, never changes; each row says what is wrong and how to mend it.
//!
//! A check is a function that gives rows. People's view and `--json` show the same rows. To add a
//! check, add a line to [`CHECKS`].

mod agents;
mod home;
mod hooks;
mod news;
mod resident;
mod store;

pub(crate) use agents::which;

use anstyle::{AnsiColor, Style};
use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::Ended;
use crate::context::Context;
use crate::exit::Exit;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Health {
    Good,
    /// Worth knowing, nothing to do.
    Note,
    /// Works, but not as it could.
    Warning,
    /// Does not work.
    Broken,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// What was looked at.
    check: &'static str,
    health: Health,
    /// What was found.
    finding: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

impl Row {
    fn new(check: &'static str, health: Health, finding: impl Into<String>) -> Self {
        Self { check, health, finding: finding.into(), mend: None }
    }

    fn good(check: &'static str, finding: impl Into<String>) -> Self {
        Self::new(check, Health::Good, finding)
    }

    fn note(check: &'static str, finding: impl Into<String>) -> Self {
        Self::new(check, Health::Note, finding)
    }

    fn warning(check: &'static str, finding: impl Into<String>) -> Self {
        Self::new(check, Health::Warning, finding)
    }

    fn broken(check: &'static str, finding: impl Into<String>) -> Self {
        Self::new(check, Health::Broken, finding)
    }

    #[must_use]
    fn mend(mut self, how: impl Into<String>) -> Self {
        self.mend = Some(how.into());
        self
    }
}

type Check = fn(&Context) -> Vec<Row>;

/// Everything that is looked at, in the order it is told.
const CHECKS: &[Check] = &[
    home::state_folder,
    home::configuration,
    home::project,
    store::store,
    resident::resident,
    resident::log,
    agents::agents,
    hooks::hooks,
    news::news,
];

pub(crate) fn run(context: &Context, _args: &DoctorArgs) -> Ended {
    let rows: Vec<Row> = CHECKS.iter().flat_map(|check| check(context)).collect();
    let broken = rows.iter().filter(|row| row.health == Health::Broken).count();
    let warnings = rows.iter().filter(|row| row.health == Health::Warning).count();
    if context.out.json {
        context.out.json(&json!({ "version": belay_server::VERSION, "ok": broken == 0, "rows": rows }))?;
    } else {
        for row in &rows {
            print(context, row)?;
        }
        context.out.say(match (broken, warnings) {
            (0, 0) => "\nAll is well.".to_owned(),
            (0, warnings) => format!("\nIt works; {warnings} could be better."),
            (broken, _) => format!("\n{broken} to mend."),
        });
    }
    Ok(if broken == 0 { Exit::Done } else { Exit::Failed })
}

fn print(context: &Context, row: &Row) -> std::io::Result<()> {
    // The sign says it; colour only helps.
    let (sign, color) = match row.health {
        Health::Good => ("ok", AnsiColor::Green),
        Health::Note => ("--", AnsiColor::BrightBlack),
        Health::Warning => ("!!", AnsiColor::Yellow),
        Health::Broken => ("XX", AnsiColor::Red),
    };
    let style = Style::new().fg_color(Some(color.into()));
    context.out.line(format!("{style}{sign}{style:#}  {:<14} {}", row.check, crate::output::one_line(&row.finding)))?;
    match &row.mend {
        Some(mend) => context.out.line(format!("{:19}mend: {}", "", crate::output::one_line(mend))),
        None => Ok(()),
    }
}
