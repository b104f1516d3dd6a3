//! What Loop Watchdog's clients expect to hear.

use belay_core::{Timestamp, Verdict};
use serde_json::{Value, json};

use crate::local_response::LocalResponse;

/// What Loop Watchdog takes for a loop, and what it gives a kill.
const PAUSE_SCORE: f64 = 4.8;
const KILL_SCORE: f64 = 999.0;

/// 423 while a cooldown lasts, 428 where a changed plan is wanted, 409 for everything else. `status` is the session's
/// in its shape, as far as somebody knows it.
pub(super) fn held(session: &str, verdict: &Verdict, status: &Value, now: Timestamp) -> LocalResponse {
    let (code, error) = match verdict {
        Verdict::Hold { reason, until: Some(until), .. } => {
            // As Python writes it.
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
    LocalResponse::json(code, json!({ "error": error }).to_string())
}

fn paused(session: &str, reason: &str, id: &str, score: f64, status: &Value, now: Timestamp) -> Value {
    let incident = match &status["incident"] {
        known @ Value::Object(_) => known.clone(),
        _ => incident(session, reason, id, score, now),
    };
    json!({ "message": reason, "type": "loop_watchdog_paused", "incident": incident })
}

/// What there is to say when nobody knows more: every field its clients read.
fn incident(session: &str, reason: &str, id: &str, score: f64, now: Timestamp) -> Value {
    json!({
        "incident_id": id,
        "session_id": session,
        "identity": null,
        "created_at": now.to_string().replace('Z', "000Z"),
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
