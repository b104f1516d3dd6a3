//! The last events of a session in Loop Watchdog's format.

use belay_core::event::{ChangeKind, CheckKind, ClientReport, OperatorDecision, TaskPhase};
use belay_core::{Body, CallStatus, Event, SessionKey};
use belay_store::{EventQuery, Order, Result, Store};
use serde_json::{Value, json};

use super::format_time;
use super::views::session_name;

/// How many events its clients receive.
const MAX_EVENTS: usize = 8;

/// The last events of a session, oldest first.
pub(super) fn recent_events(store: &dyn Store, key: &SessionKey) -> Result<Vec<Value>> {
    let query =
        EventQuery { session: Some(key.clone()), order: Order::Last, limit: MAX_EVENTS, ..EventQuery::default() };
    let rows = store.events(&query)?;
    Ok(rows.iter().filter_map(|row| row.event().ok()).map(|event| to_json(&event)).collect())
}

fn to_json(event: &Event) -> Value {
    let (kind, summary, files, metadata) = match &event.report {
        Some(report) => {
            (report.kind.as_str(), report.summary.as_str().to_owned(), report.files.clone(), metadata(report))
        }
        None => {
            let (kind, summary) = kind_and_summary(&event.body);
            let files = match &event.body {
                Body::FileChanged(change) => vec![change.path.clone()],
                _ => Vec::new(),
            };
            (kind, summary, files, json!({}))
        }
    };
    json!({
        "event_id": event.id,
        "schema_version": 1,
        "session_id": session_name(&event.session),
        "identity": null,
        "kind": kind,
        "summary": summary,
        "files": files,
        "metadata": metadata,
        "created_at": format_time(event.at),
        "fingerprint": "",
        "error_signature": "",
        "git_diff_fingerprint": null,
        "test_failure": null,
        "git_diff": null,
    })
}

/// The metadata as posted, redacted. What is too long to be stored whole is shown as text.
fn metadata(report: &ClientReport) -> Value {
    match serde_json::from_str(report.metadata.as_str()) {
        Ok(whole @ Value::Object(_)) => whole,
        _ if report.metadata.is_empty() => json!({}),
        _ => json!({ "excerpt": report.metadata }),
    }
}

fn kind_and_summary(body: &Body) -> (&'static str, String) {
    match body {
        Body::ModelAsked(_) => ("agent_request", "The agent asked the model.".to_owned()),
        Body::ModelAnswered(answer) => ("agent_response", answer.text.as_str().to_owned()),
        Body::ToolCalled(call) => ("tool_call", format!("{}: {}", call.tool.name, call.input.as_str())),
        Body::ToolReturned(result) => {
            let failed = matches!(result.status, CallStatus::Error | CallStatus::TimedOut);
            (if failed { "tool_error" } else { "tool_result" }, result.output.as_str().to_owned())
        }
        Body::FileChanged(change) => {
            let kind = match change.change {
                ChangeKind::Created => "file_create",
                ChangeKind::Deleted => "file_delete",
                ChangeKind::Modified | ChangeKind::Moved => "file_edit",
            };
            (kind, change.path.clone())
        }
        Body::CheckRan(check) => {
            let kind = match (check.check, check.ok) {
                (CheckKind::Test, Some(true)) => "test_pass",
                (CheckKind::Test, Some(false)) => "test_failure",
                (CheckKind::Test, None) => "test_start",
                (CheckKind::Build, Some(true)) => "build_success",
                (CheckKind::Build, Some(false)) => "build_failure",
                (CheckKind::Build, None) => "build_start",
                (CheckKind::Lint, Some(false)) => "lint_failure",
                (CheckKind::Lint, _) => "lint_pass",
            };
            (kind, check.command.as_str().to_owned())
        }
        Body::Committed(commit) => ("git_commit", commit.sha.clone()),
        Body::Prompt(prompt) => ("user_intervention", prompt.text.as_str().to_owned()),
        Body::Task(task) => {
            let kind = match task.phase {
                TaskPhase::Started => "task_started",
                TaskPhase::Completed => "task_completed",
                _ => "task_progress",
            };
            (kind, task.what.as_str().to_owned())
        }
        Body::Operator(operator) => {
            let kind = match operator.decision {
                OperatorDecision::Resume { .. } => "manual_resume",
                OperatorDecision::Kill => "manual_kill",
                OperatorDecision::Acknowledge => "manual_acknowledge",
                OperatorDecision::Archive => "manual_archive",
                _ => "session_note",
            };
            (kind, operator.note.as_str().to_owned())
        }
        Body::Note(note) => ("session_note", note.text.as_str().to_owned()),
        other => ("session_note", other.kind().replace('_', " ")),
    }
}
