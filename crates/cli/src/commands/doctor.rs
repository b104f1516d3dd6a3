//! `belay doctor`: looks, never changes; each row says what is wrong and how to fix it.
//!
//! A check is a function that gives rows. People's view and `--json` show the same rows. To add a
//! check, add a line to [`CHECKS`].

mod agents;
mod alerts;
mod home;
mod hooks;
mod resident;
mod store;

pub(crate) use agents::which;

use anstyle::{AnsiColor, Style};
use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::CommandResult;
use crate::context::Context;
use crate::exit_status::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckStatus {
    Ok,
    /// Worth knowing, nothing to do.
    Note,
    /// Works, but not as it could.
    Warning,
    /// Does not work.
    Failed,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CheckResult {
    /// What was looked at.
    check: &'static str,
    health: CheckStatus,
    /// What was found.
    finding: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl CheckResult {
    fn new(check: &'static str, health: CheckStatus, finding: impl Into<String>) -> Self {
        Self { check, health, finding: finding.into(), fix: None }
    }

    fn ok(check: &'static str, finding: impl Into<String>) -> Self {
        Self::new(check, CheckStatus::Ok, finding)
    }

    fn note(check: &'static str, finding: impl Into<String>) -> Self {
        Self::new(check, CheckStatus::Note, finding)
    }

    fn warning(check: &'static str, finding: impl Into<String>) -> Self {
        Self::new(check, CheckStatus::Warning, finding)
    }

    fn failed(check: &'static str, finding: impl Into<String>) -> Self {
        Self::new(check, CheckStatus::Failed, finding)
    }

    #[must_use]
    fn fix(mut self, how: impl Into<String>) -> Self {
        self.fix = Some(how.into());
        self
    }
}

type Check = fn(&Context) -> Vec<CheckResult>;

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
    alerts::alert_checks,
];

pub(crate) fn run(context: &Context, _args: &DoctorArgs) -> CommandResult {
    let rows: Vec<CheckResult> = CHECKS.iter().flat_map(|check| check(context)).collect();
    let broken = rows.iter().filter(|row| row.health == CheckStatus::Failed).count();
    let warnings = rows.iter().filter(|row| row.health == CheckStatus::Warning).count();
    if context.out.json {
        context.out.json(&json!({ "version": belay_server::VERSION, "ok": broken == 0, "rows": rows }))?;
    } else {
        for row in &rows {
            print(context, row)?;
        }
        context.out.info(match (broken, warnings) {
            (0, 0) => "\nAll is well.".to_owned(),
            (0, warnings) => format!("\nIt works; {warnings} could be better."),
            (broken, _) => format!("\n{broken} to fix."),
        });
    }
    Ok(if broken == 0 { ExitStatus::Done } else { ExitStatus::Failed })
}

fn print(context: &Context, row: &CheckResult) -> std::io::Result<()> {
    // The sign says it; colour only helps.
    let (sign, color) = match row.health {
        CheckStatus::Ok => ("ok", AnsiColor::Green),
        CheckStatus::Note => ("--", AnsiColor::BrightBlack),
        CheckStatus::Warning => ("!!", AnsiColor::Yellow),
        CheckStatus::Failed => ("XX", AnsiColor::Red),
    };
    let style = Style::new().fg_color(Some(color.into()));
    context.out.line(format!(
        "{style}{sign}{style:#}  {:<14} {}",
        row.check,
        crate::output::single_line(&row.finding)
    ))?;
    match &row.fix {
        Some(fix) => context.out.line(format!("{:19}fix: {}", "", crate::output::single_line(fix))),
        None => Ok(()),
    }
}
