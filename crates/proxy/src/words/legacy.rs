//! What Loop Watchdog's clients expect to hear.

use belay_core::Verdict;
use serde_json::json;

use crate::answer::Answer;

/// 423 while a cooldown lasts, 428 where a changed plan is wanted, 409 for everything else.
pub(super) fn held(verdict: &Verdict) -> Answer {
    let (status, error) = match verdict {
        Verdict::Hold { reason, until: Some(until), .. } => {
            (423, json!({ "message": reason, "type": "loop_watchdog_cooldown", "cooldown_until": until.to_string() }))
        }
        Verdict::Hold { reason, plan_required: true, .. } => {
            (428, json!({ "message": reason, "type": "loop_watchdog_plan_required", "required_plan_preview": "" }))
        }
        Verdict::Hold { reason, incident, .. } | Verdict::Stop { reason, incident } => (
            409,
            json!({
                "message": reason,
                "type": "loop_watchdog_paused",
                "incident": { "incident_id": incident, "reasons": [reason] },
            }),
        ),
        Verdict::Go | Verdict::Nudge { .. } => (409, json!({ "message": "held", "type": "loop_watchdog_paused" })),
    };
    Answer::json(status, json!({ "error": error }).to_string())
}
