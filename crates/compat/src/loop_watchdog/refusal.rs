//! Responses to model requests of held sessions, for Loop Watchdog's clients.

use std::sync::Arc;

use belay_core::{SessionKey, Timestamp, Verdict};
use belay_proxy::LocalResponse;
use serde_json::{Value, json};

use super::backend::{Backend, blocking};
use super::{KILL_SCORE, PAUSE_SCORE, format_time, views};

/// The refusal of a request that the verdict does not admit.
pub async fn refusal<B: Backend>(backend: Arc<B>, session: SessionKey, verdict: Verdict) -> LocalResponse {
    let key = session.clone();
    let status = blocking(&backend, move |backend| backend.read(|store| views::status(store, &key))).await;
    // Without a status, the verdict alone makes a complete response.
    let (code, body) = response(&session.id, &verdict, &status.unwrap_or_default(), backend.now());
    LocalResponse::json(code, body.to_string())
}

/// 423 during a cooldown, 428 if a changed plan is required, otherwise 409. `status` is the session's in Loop Watchdog's
/// format, or null if it is unknown.
fn response(session: &str, verdict: &Verdict, status: &Value, now: Timestamp) -> (u16, Value) {
    let (code, error) = match verdict {
        Verdict::Hold { reason, until: Some(until), .. } => {
            // The format of Python's `isoformat()`, unlike that of other times.
            let until = until.to_string().replace('Z', "000+00:00");
            (423, json!({ "message": reason, "type": "loop_watchdog_cooldown", "cooldown_until": until }))
        }
        Verdict::Hold { reason, plan_required: true, .. } => {
            let preview = status["required_plan_preview"].as_str().unwrap_or_default();
            (428, json!({ "message": reason, "type": "loop_watchdog_plan_required", "required_plan_preview": preview }))
        }
        Verdict::Hold { reason, incident, .. } => (409, paused(session, reason, incident, PAUSE_SCORE, status, now)),
        Verdict::Stop { reason, incident } => (409, paused(session, reason, incident, KILL_SCORE, status, now)),
        Verdict::Go | Verdict::Nudge { .. } => {
            (409, paused(session, "Belay held this request back.", "", PAUSE_SCORE, status, now))
        }
    };
    (code, json!({ "error": error }))
}

fn paused(session: &str, reason: &str, id: &str, score: f64, status: &Value, now: Timestamp) -> Value {
    let incident = match &status["incident"] {
        known @ Value::Object(_) => known.clone(),
        _ => minimal_incident(session, reason, id, score, now),
    };
    json!({ "message": reason, "type": "loop_watchdog_paused", "incident": incident })
}

/// An incident with every field that clients read, made of the verdict alone.
fn minimal_incident(session: &str, reason: &str, id: &str, score: f64, now: Timestamp) -> Value {
    json!({
        "incident_id": id,
        "session_id": session,
        "identity": null,
        "created_at": format_time(now),
        "score": score,
        "reasons": [reason],
        "repeated_files": [],
        "repeated_errors": [],
        "triggering_event_ids": [],
        "request_count": 0,
        "recommendation": reason,
    })
}

#[cfg(test)]
mod tests;
