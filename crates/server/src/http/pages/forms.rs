//! Decisions from the forms of pages. A form carries its token; a script sends it in place and shows the response.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use belay_core::event::{OperatorDecision, PermissionAnswer};
use belay_core::format;
use belay_core::session::Budget;
use belay_core::{SessionKey, Subject};
use belay_ipc::{AnswerRequest, ErrorBody, ErrorCode};

use super::super::api::decisions::{BulkResult, Decided, DecisionBody, apply, apply_to_all};
use super::super::blocking;
use super::super::error::ApiError;
use super::super::request_guard::Author;
use super::super::signed_request::{Fields, SignedForm};
use crate::state::DaemonState;
use crate::{approvals, dashboard};

/// What a form decides, and whether the session is also resumed.
fn decision(fields: &Fields) -> Result<(OperatorDecision, bool), ApiError> {
    let name = fields.get("decision").unwrap_or_default();
    let decision = match name {
        "pause" => OperatorDecision::Pause,
        "resume" => OperatorDecision::Resume {
            cooldown_secs: fields.number("cooldown_secs")?,
            plan: None,
            require_plan: fields.is_set("require_plan"),
            reset: fields.is_set("reset"),
        },
        "acknowledge" => OperatorDecision::Acknowledge,
        "kill" => OperatorDecision::Kill,
        "reset" => OperatorDecision::Reset,
        "archive" => OperatorDecision::Archive,
        "mark_seen" => OperatorDecision::MarkSeen,
        "note" => OperatorDecision::Note,
        "allow" => {
            let finding = fields.get("finding").ok_or_else(|| ApiError::bad_request("finding: no finding is named"))?;
            OperatorDecision::Allow { finding: finding.to_owned() }
        }
        "budget" => {
            OperatorDecision::Budget(Budget { tokens: fields.number("tokens")?, cost_micros: Some(budget(fields)?) })
        }
        other => return Err(ApiError::bad_request(format!("decision: {other:?} is not a decision"))),
    };
    Ok((decision, name == "budget" && fields.is_set("resume")))
}

/// The new budget in millionths of a US dollar.
fn budget(fields: &Fields) -> Result<u64, ApiError> {
    if let Some(micros) = fields.number("cost_micros")? {
        return Ok(micros);
    }
    micros(fields.get("dollars").unwrap_or_default())
}

/// An amount in US dollars in millionths.
pub(super) fn micros(text: &str) -> Result<u64, ApiError> {
    let dollars = text.trim_start_matches('$').parse::<f64>().ok();
    let micros = dollars.filter(|dollars| dollars.is_finite() && (1e-6..=1e9).contains(dollars));
    micros
        .map(|dollars| (dollars * 1e6).round() as u64)
        .ok_or_else(|| ApiError::bad_request(format!("dollars: {text:?} is not an amount; use 0.000001 to 1000000000")))
}

pub(super) async fn decide(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    form: SignedForm,
) -> Result<Response, ApiError> {
    let (decision, resume) = decision(&form.fields)?;
    let note = form.fields.get("note").unwrap_or_default().to_owned();
    let author = form.author.clone();
    let (message, session) = blocking(&daemon, move |daemon| {
        let session = daemon.readers.get()?.resolve(&id)?;
        let decided = decide_one(daemon, &session, decision.clone(), note, resume, &author)?;
        Ok((message(&decision, &decided), session))
    })
    .await?;
    Ok(form.done(&message, &Subject::from(session).page()))
}

fn decide_one(
    daemon: &DaemonState,
    session: &SessionKey,
    decision: OperatorDecision,
    note: String,
    resume: bool,
    author: &Author,
) -> Result<Decided, ApiError> {
    let body = |decision, note| DecisionBody { decision, note, by: None };
    let decided = apply(daemon, session.clone(), body(decision, note), author)?;
    let held = decided.session.as_ref().and_then(|session| session.held.as_ref()).filter(|_| resume);
    let Some(held) = held else { return Ok(decided) };
    // A larger budget does not solve a loop, and does not overrule a person.
    let incident = daemon.readers.get()?.incident(&held.incident)?;
    let pattern = incident.as_ref().and_then(|incident| incident.finding.as_ref()).map(|finding| &*finding.pattern);
    if pattern != Some(dashboard::BUDGET_PATTERN) {
        return Ok(decided);
    }
    apply(daemon, session.clone(), body(OperatorDecision::RESUME, String::new()), author)
}

/// What came of a decision, in one sentence.
fn message(decision: &OperatorDecision, decided: &Decided) -> String {
    let held = decided.session.as_ref().and_then(|session| session.held.as_ref());
    let text = match decision {
        OperatorDecision::Pause => "Paused: its next call is held.",
        OperatorDecision::Resume { .. } => match held {
            Some(held) if held.until.is_some() => "Resumes after the cooldown.",
            Some(_) => "Resumes as soon as the agent names a changed plan.",
            None => "Resumed.",
        },
        OperatorDecision::Acknowledge => "Acknowledged; it stays held.",
        OperatorDecision::Kill => "Killed: every further call is refused.",
        OperatorDecision::Reset => "The evidence is discarded; the log stays.",
        OperatorDecision::Archive => "Archived.",
        OperatorDecision::Allow { .. } => "Allowed in this session.",
        OperatorDecision::Budget(budget) => {
            let budget = budget.phrase();
            let resumed = if held.is_none() { "" } else { " It is still held." };
            return not_stored(decided, format!("The budget is {budget}.{resumed}"));
        }
        OperatorDecision::Configure { .. } => "The settings hold until the session ends.",
        OperatorDecision::Answer { .. } => "Answered.",
        OperatorDecision::Note => "Noted.",
        OperatorDecision::MarkSeen => "Marked as seen.",
    };
    not_stored(decided, text.to_owned())
}

fn not_stored(decided: &Decided, text: String) -> String {
    if decided.committed { text } else { format!("{text} It is not stored yet: the store is not writable.") }
}

pub(super) async fn decide_incidents(
    State(daemon): State<Arc<DaemonState>>,
    form: SignedForm,
) -> Result<Response, ApiError> {
    let (fields, author) = (&form.fields, form.author.clone());
    let (decision, _) = decision(fields)?;
    let body = DecisionBody { decision, note: fields.get("note").unwrap_or_default().to_owned(), by: None };
    let incidents: Vec<String> = fields.all("incident").map(str::to_owned).collect();
    if incidents.is_empty() {
        return Err(ApiError::bad_request("no incident is selected"));
    }
    let results = blocking(&daemon, move |daemon| {
        let store = daemon.readers.get()?;
        let mut sessions = Vec::new();
        for id in incidents.iter().take(MAX_INCIDENTS) {
            let incident = store.incident(id)?.ok_or_else(|| ApiError::not_found(format!("no incident {id}")))?;
            sessions.push(incident.session.to_string());
        }
        drop(store);
        Ok(apply_to_all(daemon, sessions, &body, &author))
    })
    .await?;
    let refused: Vec<&ErrorBody> = results
        .iter()
        .filter_map(|result| match result {
            BulkResult::Refused { error, .. } => Some(error),
            BulkResult::Decided(_) => None,
        })
        .collect();
    let decided = results.len() - refused.len();
    match refused.first() {
        None => Ok(form.done(&format!("Done for {}.", format::pluralize(decided as u64, "session")), "/incidents")),
        Some(first) => {
            let message = format!("{decided} of {} done; {}", results.len(), first.message);
            Err(ErrorBody::new(ErrorCode::Refused, message).into())
        }
    }
}

/// Answers a permission prompt of an agent.
pub(super) async fn answer(
    State(daemon): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    form: SignedForm,
) -> Result<Response, ApiError> {
    let fields = &form.fields;
    let answer = match fields.get("answer") {
        Some("allow") => PermissionAnswer::Allow,
        Some("deny") => PermissionAnswer::Deny,
        other => return Err(ApiError::bad_request(format!("answer: {other:?}; use allow or deny"))),
    };
    let request = AnswerRequest {
        id,
        answer,
        hash: fields.get("hash").unwrap_or_default().to_owned(),
        why: fields.get("why").unwrap_or_default().to_owned(),
        by: form.author.default_name(),
        caller: None,
    };
    blocking(&daemon, move |daemon| Ok(approvals::answer(daemon, &request)?)).await?;
    let message = match answer {
        PermissionAnswer::Allow => "Allowed once.",
        PermissionAnswer::Deny => "Denied.",
    };
    Ok(form.done(message, "/"))
}

/// Maximum number of incidents of one form.
const MAX_INCIDENTS: usize = 200;
