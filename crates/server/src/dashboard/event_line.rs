//! One event in one line.

use belay_core::event::OperatorDecision;
use belay_core::{Body, Event};
use belay_ipc::views::{CallView, EventLineView};
use belay_store::EventRow;

/// Maximum number of characters of a text in a line.
const MAX_CHARS: usize = 240;

pub(super) fn event_line(row: &EventRow, calls: &[(u64, CallView)]) -> Option<EventLineView> {
    let event = row.event().ok()?;
    let (what, outcome) = describe(&event);
    let call = call_of(&event, row, calls);
    Some(EventLineView {
        seq: row.seq,
        at: row.at,
        kind: row.kind.clone(),
        source: source(&event),
        call: call.map(|call| call.call),
        pair: call.map(|call| call.pair.clone()),
        what: shorten(&what),
        outcome: shorten(call.map_or(&outcome, |call| &call.outcome)),
        tokens: call.map_or_else(|| tokens(&event), |call| call.fresh_tokens.saturating_add(call.cached_tokens)),
    })
}

pub(super) fn source(event: &Event) -> String {
    serde_json::to_value(event.source).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The call that an event begins. `calls` are paired with the sequence number of their event.
fn call_of<'a>(event: &Event, row: &EventRow, calls: &'a [(u64, CallView)]) -> Option<&'a CallView> {
    let begins = matches!(event.body, Body::ToolCalled(_));
    calls.iter().find(|(seq, _)| begins && *seq == row.seq).map(|(_, call)| call)
}

fn tokens(event: &Event) -> u64 {
    let usage = match &event.body {
        Body::ModelAnswered(answer) => answer.usage,
        Body::Learned(fact) => fact.usage,
        _ => None,
    };
    usage.map_or(0, |usage| usage.total())
}

/// What happened, and what came of it.
pub(super) fn describe(event: &Event) -> (String, String) {
    let none = String::new;
    match &event.body {
        Body::SessionStarted(start) => ("started".to_owned(), start.model.clone().unwrap_or_default()),
        Body::SessionEnded(_) => ("ended".to_owned(), none()),
        Body::Prompt(prompt) => (prompt.text.to_string(), none()),
        Body::ToolCalled(called) => (format!("{} {}", called.tool.name, called.input), none()),
        Body::ToolReturned(returned) => {
            let status = serde_json::to_value(returned.status).ok();
            (status.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default(), returned.output.to_string())
        }
        Body::FileChanged(change) => (change.path.clone(), none()),
        Body::CheckRan(check) => {
            (check.command.to_string(), check.ok.map_or("runs", |ok| if ok { "passed" } else { "failed" }).to_owned())
        }
        Body::ModelAsked(ask) => (ask.model.clone().unwrap_or_default(), none()),
        Body::ModelAnswered(answer) => (answer.model.clone().unwrap_or_default(), answer.text.to_string()),
        Body::ModelFailed(failed) => ("failed".to_owned(), failed.message.to_string()),
        Body::LimitHit(limit) => (limit.what.to_string(), none()),
        Body::TurnEnded(turn) => ("turn ended".to_owned(), turn.text.to_string()),
        Body::Waiting(wait) => (wait.what.to_string(), none()),
        Body::PermissionAsked(asked) => (asked.what.to_string(), none()),
        Body::PermissionAnswered(answered) => {
            (if answered.allowed { "allowed in the terminal" } else { "denied in the terminal" }.to_owned(), none())
        }
        Body::ApprovalEnded(ended) => (ended.what.to_string(), ended.how.phrase().to_owned()),
        Body::Operator(operator) => (decision_name(&operator.decision), operator.note.to_string()),
        _ => (none(), none()),
    }
}

/// The name of a decision on the wire.
pub(super) fn decision_name(decision: &OperatorDecision) -> String {
    let value = serde_json::to_value(decision).unwrap_or_default();
    value.get("decision").and_then(|name| name.as_str()).unwrap_or_default().replace('_', " ")
}

/// One line of at most [`MAX_CHARS`] characters.
pub(super) fn shorten(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
