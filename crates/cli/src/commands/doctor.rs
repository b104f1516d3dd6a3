//! `belay doctor`: checks the setup without changing it. Each row states what is wrong and how to fix it.
//!
//! A check is a function that returns rows; text and `--json` show the same rows. To add a check, add it to [`CHECKS`].

mod agents;
mod alerts;
mod budget;
mod home;
mod hooks;
mod resident;
mod store;

use anstyle::{AnsiColor, Style};
use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::CommandResult;
use crate::context::Context;
use crate::exit_status::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Verify the log of every session, however long that takes.
    #[arg(long)]
    full: bool,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckStatus {
    Ok,
    /// Information; nothing to do.
    Note,
    /// Works with restrictions.
    Warning,
    /// Does not work.
    Failed,
}

/// One row of the report.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CheckResult {
    check: &'static str,
    health: CheckStatus,
    finding: String,
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

/// All checks, in the order of the report.
const CHECKS: &[Check] = &[
    home::state_directory,
    home::configuration,
    home::project,
    store::store,
    store::spool,
    budget::unpriced_models,
    resident::resident,
    resident::log,
    agents::agents,
    hooks::hooks,
    hooks::environment,
    alerts::alert_checks,
];

pub(crate) fn run(context: &Context, args: &DoctorArgs) -> CommandResult {
    let mut rows: Vec<CheckResult> = CHECKS.iter().flat_map(|check| check(context)).collect();
    rows.extend(store::log(context, args.full));
    let broken = rows.iter().filter(|row| row.health == CheckStatus::Failed).count();
    let warnings = rows.iter().filter(|row| row.health == CheckStatus::Warning).count();
    if context.out.json {
        context.out.json(&json!({ "version": belay_server::VERSION, "ok": broken == 0, "rows": rows }))?;
    } else {
        for row in &rows {
            print(context, row)?;
        }
        context.out.info(match (broken, warnings) {
            (0, 0) => "\nNo problems found.".to_owned(),
            (0, warnings) => format!("\nBelay works; {}.", belay_core::format::pluralize(warnings as u64, "warning")),
            (broken, _) => format!("\n{} to fix.", belay_core::format::pluralize(broken as u64, "problem")),
        });
    }
    Ok(if broken == 0 { ExitStatus::Done } else { ExitStatus::Failed })
}

fn print(context: &Context, row: &CheckResult) -> std::io::Result<()> {
    // The sign carries the meaning; colour is an addition.
    let (sign, color) = match row.health {
        CheckStatus::Ok => ("ok", AnsiColor::Green),
        CheckStatus::Note => ("--", AnsiColor::BrightBlack),
        CheckStatus::Warning => ("!!", AnsiColor::Yellow),
        CheckStatus::Failed => ("XX", AnsiColor::Red),
    };
    let style = Style::new().fg_color(Some(color.into()));
    let finding = format!("  {:<14} {}", row.check, crate::output::single_line(&row.finding));
    context.out.styled_line(&[(style, sign), (Style::new(), &finding)])?;
    match &row.fix {
        Some(fix) => context.out.line(format!("{:19}fix: {}", "", crate::output::single_line(fix))),
        None => Ok(()),
    }
}
