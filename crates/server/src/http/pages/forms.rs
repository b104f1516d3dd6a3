//! Decisions from the forms of pages. A form carries its token; a script sends it in place and shows the response.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, Path, State};
use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use belay_core::SessionKey;
use belay_core::event::{OperatorDecision, PermissionAnswer};
use belay_core::format;
use belay_ipc::{AnswerRequest, ErrorBody, ErrorCode};
use serde_json::json;

use super::super::api::decisions::{BulkResult, Decided, DecisionBody, apply, apply_to_all};
use super::super::blocking;
use super::super::error::ApiError;
use super::super::request_guard::{self, Author};
use crate::approvals;
use crate::state::DaemonState;

/// The fields of a form, in their order.
pub(super) struct Fields(Vec<(String, String)>);

pub(super) type FormBody = Result<Form<Vec<(String, String)>>, FormRejection>;

impl Fields {
    pub(super) fn read(form: FormBody) -> Result<Self, ApiError> {
        form.map(|Form(fields)| Self(fields)).map_err(|error| ApiError::bad_request(error.body_text()))
    }

    /// The value of a field; `None` if it is absent or empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let value = self.0.iter().find(|(field, _)| field == name).map(|(_, value)| value.trim());
        value.filter(|value| !value.is_empty())
    }

    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn is_set(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, ApiError> {
        let parse = |text: &str| {
            text.parse().map_err(|_| ApiError::bad_request(format!("{name}: {text:?} is not a whole number")))
        };
        self.get(name).map(parse).transpose()
    }
}

/// The person who sent a form.
pub(super) fn author(shared: &DaemonState, headers: &HeaderMap, fields: &Fields) -> Result<Author, ApiError> {
    request_guard::authorize_decision(shared, headers, fields.get("form_token"))
}

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
        "budget" => OperatorDecision::Budget { tokens: fields.number("tokens")?, cost_micros: Some(budget(fields)?) },
        other => return Err(ApiError::bad_request(format!("decision: {other:?} is not a decision"))),
    };
    Ok((decision, name == "budget" && fields.is_set("resume")))
}

/// The new budget in millionths of a US dollar.
fn budget(fields: &Fields) -> Result<u64, ApiError> {
    if let Some(micros) = fields.number("cost_micros")? {
        return Ok(micros);
    }
    let text = fields.get("dollars").unwrap_or_default();
    let dollars = text.trim_start_matches('$').parse::<f64>().ok();
    let micros = dollars.filter(|dollars| dollars.is_finite() && (1e-6..=1e9).contains(dollars));
    micros
        .map(|dollars| (dollars * 1e6).round() as u64)
        .ok_or_else(|| ApiError::bad_request(format!("dollars: {text:?} is not an amount; use 0.000001 to 1000000000")))
}

pub(super) async fn decide(
    State(shared): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    form: FormBody,
) -> Result<Response, ApiError> {
    let fields = Fields::read(form)?;
    let author = author(&shared, &headers, &fields)?;
    let (decision, resume) = decision(&fields)?;
    let note = fields.get("note").unwrap_or_default().to_owned();
    let (message, session) = blocking(&shared, move |shared| {
        let session = shared.readers.get()?.resolve(&id)?;
        let decided = decide_one(shared, &session, decision.clone(), note, resume, &author)?;
        Ok((message(&decision, &decided), session))
    })
    .await?;
    Ok(done(&headers, &message, &format!("/sessions/{}", belay_dashboard::path_segment(&session.to_string()))))
}

fn decide_one(
    shared: &DaemonState,
    session: &SessionKey,
    decision: OperatorDecision,
    note: String,
    resume: bool,
    author: &Author,
) -> Result<Decided, ApiError> {
    let body = |decision, note| DecisionBody { decision, note, by: None };
    let decided = apply(shared, session.clone(), body(decision, note), author)?;
    let held = decided.session.as_ref().is_some_and(|session| session.held.is_some());
    if !resume || !held {
        return Ok(decided);
    }
    let resume = OperatorDecision::Resume { cooldown_secs: None, plan: None, require_plan: false, reset: false };
    apply(shared, session.clone(), body(resume, String::new()), author)
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
        OperatorDecision::Budget { cost_micros, .. } => {
            let budget = cost_micros.map(format::dollars).unwrap_or_default();
            let resumed = if held.is_none() { "" } else { " It is still held." };
            return not_stored(decided, format!("The budget is {budget}.{resumed}"));
        }
        OperatorDecision::Answer { .. } => "Answered.",
        OperatorDecision::Note => "Noted.",
        OperatorDecision::MarkSeen => "Seen.",
    };
    not_stored(decided, text.to_owned())
}

fn not_stored(decided: &Decided, text: String) -> String {
    if decided.committed { text } else { format!("{text} It is not stored yet: the store is not writable.") }
}

pub(super) async fn decide_incidents(
    State(shared): State<Arc<DaemonState>>,
    headers: HeaderMap,
    form: FormBody,
) -> Result<Response, ApiError> {
    let fields = Fields::read(form)?;
    let author = author(&shared, &headers, &fields)?;
    let (decision, _) = decision(&fields)?;
    let body = DecisionBody { decision, note: fields.get("note").unwrap_or_default().to_owned(), by: None };
    let incidents: Vec<String> = fields.all("incident").map(str::to_owned).collect();
    if incidents.is_empty() {
        return Err(ApiError::bad_request("no incident is selected"));
    }
    let results = blocking(&shared, move |shared| {
        let store = shared.readers.get()?;
        let mut sessions = Vec::new();
        for id in incidents.iter().take(MAX_INCIDENTS) {
            let incident = store.incident(id)?.ok_or_else(|| ApiError::not_found(format!("no incident {id}")))?;
            sessions.push(incident.session.to_string());
        }
        drop(store);
        Ok(apply_to_all(shared, sessions, &body, &author))
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
        None => {
            Ok(done(&headers, &format!("Done for {}.", format::pluralize(decided as u64, "session")), "/incidents"))
        }
        Some(first) => {
            let message = format!("{decided} of {} done; {}", results.len(), first.message);
            Err(ErrorBody::new(ErrorCode::Refused, message).into())
        }
    }
}

/// Answers a permission prompt of an agent.
pub(super) async fn answer(
    State(shared): State<Arc<DaemonState>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    form: FormBody,
) -> Result<Response, ApiError> {
    let fields = Fields::read(form)?;
    let author = author(&shared, &headers, &fields)?;
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
        by: author.default_name(),
        caller: None,
    };
    blocking(&shared, move |shared| Ok(approvals::answer(shared, &request)?)).await?;
    let message = match answer {
        PermissionAnswer::Allow => "Allowed once.",
        PermissionAnswer::Deny => "Denied.",
    };
    Ok(done(&headers, message, "/"))
}

/// Maximum number of incidents of one form.
const MAX_INCIDENTS: usize = 200;

/// The response to a form: JSON for a script, otherwise back to a page.
pub(super) fn done(headers: &HeaderMap, message: &str, page: &str) -> Response {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    match accept.contains("application/json") {
        true => (StatusCode::OK, Json(json!({ "message": message }))).into_response(),
        false => Redirect::to(page).into_response(),
    }
}
