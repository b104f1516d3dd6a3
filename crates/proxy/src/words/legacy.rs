//! What Loop Watchdog's clients expect to hear.

use belay_core::Verdict;
use serde_json::{Value, json};

use crate::answer::Answer;

/// What Loop Watchdog takes for a loop, and what it gives a kill.
const PAUSE_SCORE: f64 = 4.8;
const KILL_SCORE: f64 = 999.0;

/// 423 while a cooldown lasts, 428 where a changed plan is wanted, 409 for everything else.
pub(super) fn held(session: &str, verdict: &Verdict) -> Answer {
    let (status, error) = match verdict {
        Verdict::Hold { reason, until: Some(until), .. } => {
            // As Python writes it.
            let until = until.to_string().replace('Z', "+00:00");
            (423, json!({ "message": reason, "type": "loop_watchdog_cooldown", "cooldown_until": until }))
        }
        Verdict::Hold { reason, plan_required: true, .. } => {
            (428, json!({ "message": reason, "type": "loop_watchdog_plan_required", "required_plan_preview": "" }))
        }
        Verdict::Hold { reason, incident: id, .. } => (409, paused(reason, incident(session, id, reason, PAUSE_SCORE))),
        Verdict::Stop { reason, incident: id } => (409, paused(reason, incident(session, id, reason, KILL_SCORE))),
        Verdict::Go | Verdict::Nudge { .. } => (409, json!({ "message": "held", "type": "loop_watchdog_paused" })),
    };
    Answer::json(status, json!({ "error": error }).to_string())
}

fn paused(reason: &str, incident: Value) -> Value {
    json!({ "message": reason, "type": "loop_watchdog_paused", "incident": incident })
}

/// What there is to say without asking anybody; `/v1/watchdog/status/` tells the rest.
fn incident(session: &str, id: &str, reason: &str, score: f64) -> Value {
    json!({
        "incident_id": id,
        "session_id": session,
        "identity": null,
        "score": score,
        "reasons": [reason],
        "repeated_files": [],
        "repeated_errors": [],
        "triggering_event_ids": [],
        "request_count": 0,
        "recommendation": reason,
    })
}
