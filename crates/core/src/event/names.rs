//! Redaction and length limits of the names and ids of an event.
//!
//! Longer texts are [`Excerpt`](crate::Excerpt)s, which redact themselves. Names, paths and ids are plain strings; a
//! token can occur in a branch, a working directory or a test name.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::*;
use crate::action::Tool;
use crate::key::{MAX_ID_BYTES, redact_key_part, redacted_id};
use crate::outcome::Outcome;
use crate::redact::redact;
use crate::session::Budget;
use crate::wait::Awaited;

/// Maximum length of a path or task.
const MAX_PATH_BYTES: usize = 2048;
/// Maximum length of a name, such as a model, version or reason.
const MAX_NAME_BYTES: usize = 256;
/// Longer texts are not names: only their digest is retained.
const MAX_SCANNED_BYTES: usize = 16 * 1024;
/// Maximum number of files in one report.
pub const MAX_REPORTED_FILES: usize = 64;

/// Maximum number of conditions of one declared wait.
const MAX_CONDITIONS: usize = 16;

impl Event {
    /// Redacts and bounds every name, path and id, and corrects the author of a prompt. Idempotent.
    ///
    /// Each struct is destructured completely, so that the compiler reports a new field.
    pub fn redact_names(&mut self) {
        let Self { v: _, id, session, parent, source: _, at: _, batch, cwd, report, body } = self;
        redact_id(id);
        redact_key(session);
        parent.iter_mut().for_each(redact_key);
        ids([batch]);
        paths([cwd]);
        if let Some(ClientReport { kind, summary: _, files, metadata: _ }) = report.as_deref_mut() {
            redact_name(kind);
            files.truncate(MAX_REPORTED_FILES);
            files.iter_mut().for_each(redact_path);
        }
        redact_body(body);
    }
}

fn redact_body(body: &mut Body) {
    match body {
        Body::SessionStarted(SessionStarted {
            how: _,
            model,
            agent_version,
            project,
            branch,
            task,
            transcript,
            pid: _,
        }) => {
            names([model, agent_version, branch]);
            paths([project, task, transcript]);
        }
        Body::SessionEnded(SessionEnded { reason, exit_code: _ }) => names([reason]),
        Body::ToolCalled(ToolCalled { call, tool: Tool { kind: _, name }, action: _, input: _ }) => {
            ids([call]);
            redact_name(name);
        }
        Body::ToolReturned(returned) => redact_result(returned),
        Body::Learned(LateFact { call, exit_code: _, response, usage: _, model }) => {
            ids([call, response]);
            names([model]);
        }
        Body::FileChanged(FileChanged { path, change: _, before: _, after: _, added: _, removed: _, call }) => {
            redact_path(path);
            ids([call]);
        }
        Body::CheckRan(CheckRan { check: _, ok: _, command: _, passed: _, failed: _, failing, failure: _, call }) => {
            redact_set(failing);
            ids([call]);
        }
        Body::Committed(Committed { sha, files: _ }) => redact_id(sha),
        Body::ModelAsked(ModelAsked {
            request,
            model,
            auxiliary: _,
            tail: _,
            bytes: _,
            account: _,
            plan: _,
            unverified: _,
        }) => {
            ids([request]);
            names([model]);
        }
        Body::ModelAnswered(answer) => redact_answer(answer),
        Body::PermissionAsked(PermissionRequested { call, what: _, subject: _ })
        | Body::PermissionAnswered(PermissionAnswered { call, allowed: _ }) => ids([call]),
        Body::ApprovalEnded(ApprovalEnded { approval, how: _, what: _ }) => redact_id(approval),
        Body::SubAgentStarted(SubAgent { child, role }) | Body::SubAgentEnded(SubAgent { child, role }) => {
            redact_key(child);
            names([role]);
        }
        Body::Operator(Operator { decision, note: _, by, caller }) => {
            if let Some(Caller { agent: _, processes: _ }) = caller.as_deref() {}
            redact_decision(decision);
            names([by]);
        }
        Body::Waiting(Waiting { until: _, what: _, all }) => {
            all.truncate(MAX_CONDITIONS);
            all.iter_mut().for_each(redact_awaited);
        }
        Body::Delivered(Delivered { finding, channel: _ }) => redact_id(finding),
        Body::Prompt(prompt) => prompt.correct_author(),
        Body::ModelFailed(ModelFailed { status: _, message: _, retry_at: _ })
        | Body::LimitHit(UsageLimitHit { what: _, resets_at: _ })
        | Body::TurnEnded(TurnEnded { text: _, said: _, failed: _, interrupted: _ })
        | Body::WaitEnded(WaitEnded { met: _ })
        | Body::Compacted(Compacted { automatic: _, before: _ })
        | Body::SubAgentsSpent(SubAgentSpend { beneath: _ })
        | Body::SharedSpent(SharedSpend { day: _, project: _, account: _ })
        | Body::Task(Task { phase: _, what: _ })
        | Body::Note(Note { text: _ })
        | Body::Tick => {}
    }
}

fn redact_awaited(awaited: &mut Awaited) {
    match awaited {
        Awaited::File { path } => redact_path(path),
        Awaited::Command { command, dir } => {
            redact_name(command);
            redact_path(dir);
        }
        Awaited::Limit { account: name, until: _ } | Awaited::Lock { holder: name } => redact_name(name),
        Awaited::Pause { session, reason } => {
            redact_name(session);
            redact_name(reason);
        }
        Awaited::Time { at: _ } | Awaited::Process { pid: _, started: _ } => {}
    }
}

fn redact_result(returned: &mut ToolReturned) {
    let ToolReturned { call, answers: _, status: _, exit_code: _, outcome, output: _, duration_ms: _ } = returned;
    let Outcome {
        digest: _,
        sketch: _,
        len: _,
        exit_code: _,
        failed: _,
        family: _,
        family_name,
        failure: _,
        line: _,
        checks: _,
        refused: _,
        running: _,
        timed_out: _,
        outage: _,
        empty: _,
        acknowledged: _,
        started: _,
        exact: _,
    } = outcome;
    ids([call]);
    redact_name(family_name);
}

fn redact_answer(answer: &mut ModelAnswered) {
    let ModelAnswered {
        response,
        request,
        model,
        usage: _,
        stop,
        cost_micros: _,
        tool_calls: _,
        said: _,
        text: _,
        degenerate: _,
        auxiliary: _,
    } = answer;
    ids([response, request]);
    names([model, stop]);
}

fn redact_decision(decision: &mut OperatorDecision) {
    match decision {
        OperatorDecision::Allow { finding } => redact_id(finding),
        OperatorDecision::Answer { approval, answer: _, hash } => {
            redact_id(approval);
            redact_id(hash);
        }
        OperatorDecision::Configure { settings } => settings.values_mut().for_each(redact_name),
        OperatorDecision::Resume { cooldown_secs: _, plan: _, require_plan: _, reset: _ }
        | OperatorDecision::Budget(Budget { tokens: _, cost_micros: _ })
        | OperatorDecision::Pause
        | OperatorDecision::Acknowledge
        | OperatorDecision::Kill
        | OperatorDecision::Reset
        | OperatorDecision::Archive
        | OperatorDecision::MarkSeen
        | OperatorDecision::Note => {}
    }
}

fn ids<const N: usize>(fields: [&mut Option<String>; N]) {
    fields.into_iter().flatten().for_each(redact_id);
}

fn names<const N: usize>(fields: [&mut Option<String>; N]) {
    fields.into_iter().flatten().for_each(redact_name);
}

fn paths<const N: usize>(fields: [&mut Option<String>; N]) {
    fields.into_iter().flatten().for_each(redact_path);
}

fn redact_name(text: &mut String) {
    redact_text(text, MAX_NAME_BYTES);
}

/// Redacts and bounds a path as [`Event::redact_names`] does, to compare it with the paths of events.
pub fn redact_path(text: &mut String) {
    redact_text(text, MAX_PATH_BYTES);
}

/// An id that cannot stay becomes a digest, so that equal ids stay equal.
fn redact_id(text: &mut String) {
    if let Cow::Owned(clean) = redact_id_text(text) {
        *text = clean;
    }
}

fn redact_id_text(text: &str) -> Cow<'_, str> {
    if text.len() > MAX_ID_BYTES || text.chars().any(char::is_control) {
        return Cow::Owned(redacted_id(text));
    }
    redact_key_part(text)
}

fn redact_key(key: &mut SessionKey) {
    for part in [&mut key.agent, &mut key.id] {
        if let Cow::Owned(clean) = redact_id_text(part) {
            *part = clean.into();
        }
    }
}

fn redact_set(texts: &mut BTreeSet<String>) {
    if texts.iter().any(|text| needs_redaction(text, MAX_NAME_BYTES)) {
        let redacted = |mut text: String| {
            redact_name(&mut text);
            text
        };
        *texts = std::mem::take(texts).into_iter().map(redacted).collect();
    }
}

fn needs_redaction(text: &str, limit: usize) -> bool {
    text.len() > limit || text.chars().any(char::is_control) || matches!(redact(text), Cow::Owned(_))
}

/// Removes control characters and secrets. A shortened text ends in a digest of the original and so stays distinct.
fn redact_text(text: &mut String, limit: usize) {
    const DIGEST_SUFFIX_BYTES: usize = 17;
    if !needs_redaction(text, limit) {
        return;
    }
    if text.len() > MAX_SCANNED_BYTES {
        *text = redacted_id(text);
        return;
    }
    let original = Digest::from_bytes(&*text);
    // Control characters go first, because they can split a secret.
    text.retain(|c| !c.is_control());
    replace_secrets(text);
    if text.len() > limit {
        text.truncate(text.floor_char_boundary(limit - DIGEST_SUFFIX_BYTES));
        *text = format!("{text}#{original}");
        // The cut can leave the start of a redaction, which counts as a value again.
        replace_secrets(text);
    }
    if text.len() > limit {
        *text = redacted_id(text);
    }
}

fn replace_secrets(text: &mut String) {
    if let Cow::Owned(clean) = redact(text) {
        *text = clean;
    }
}

#[cfg(test)]
mod tests;
