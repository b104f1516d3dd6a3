//! Verdicts as JSON, for reviewers whose CLI can enforce a schema.

use serde::Deserialize;

use super::text::relative;
use super::{Place, RaisedIssue, Verdict, VerdictError, VerdictStatus};
use crate::severity::Severity;

/// The JSON schema of a verdict. Every property is required and nullable, because the strict mode of some model APIs
/// accepts nothing else.
pub const SCHEMA: &str = include_str!("schema.json");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    status: Status,
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    issues: Vec<AnswerIssue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Done,
    IssuesFound,
    BlockedOnHuman,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerIssue {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    line: Option<u32>,
    claim: String,
    #[serde(default)]
    severity: Option<Severity>,
    #[serde(default)]
    evidence: Option<String>,
    #[serde(default)]
    reason: Option<String>,
}

pub(super) fn parse(body: &str) -> Result<Verdict, VerdictError> {
    let answer: Answer = serde_json::from_str(body).map_err(|error| VerdictError::Schema(error.to_string()))?;
    let status = match (answer.status, answer.action.and_then(non_empty)) {
        (Status::Done, _) => VerdictStatus::Done,
        (Status::IssuesFound, _) => VerdictStatus::IssuesFound,
        (Status::BlockedOnHuman, Some(action)) => VerdictStatus::BlockedOnHuman { action },
        (Status::BlockedOnHuman, None) => {
            return Err(VerdictError::Schema("`blocked_on_human` needs an `action`".to_owned()));
        }
    };
    let issues: Vec<RaisedIssue> = answer.issues.into_iter().filter_map(AnswerIssue::raise).collect();
    if matches!(status, VerdictStatus::IssuesFound) && issues.is_empty() {
        return Err(VerdictError::Schema("`issues_found` needs at least one issue with a claim".to_owned()));
    }
    Ok(Verdict { status, issues, unparsed: false })
}

impl AnswerIssue {
    fn raise(self) -> Option<RaisedIssue> {
        let line = self.line.filter(|line| *line > 0);
        Some(RaisedIssue {
            id: self.id.and_then(non_empty),
            place: self
                .file
                .as_deref()
                .and_then(|file| relative(file.trim()))
                .map(|file| Place { file: file.to_owned(), line }),
            claim: non_empty(self.claim)?,
            severity: self.severity.unwrap_or_default(),
            evidence: self.evidence.and_then(non_empty),
            reason: self.reason.and_then(non_empty),
        })
    }
}

fn non_empty(text: String) -> Option<String> {
    let trimmed = text.trim();
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}
