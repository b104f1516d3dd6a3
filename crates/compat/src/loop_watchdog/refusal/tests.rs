use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_794_765_370_250);

fn hold(until: Option<Timestamp>, plan_required: bool) -> Verdict {
    let (incident, reason) = ("inc-1".to_owned(), "Held: the same test failed six times.".to_owned());
    Verdict::Hold { incident, reason, until, plan_required }
}

fn refused(verdict: &Verdict, status: &Value) -> (u16, Value) {
    response("shop", verdict, status, NOW)
}

#[test]
fn a_paused_session_gets_its_incident() {
    let incident = json!({
        "incident_id": "inc-1", "session_id": "shop", "identity": null,
        "created_at": "2026-11-15T17:56:10.250000Z", "score": 4.8,
        "reasons": ["Held: the same test failed six times."], "repeated_files": [], "repeated_errors": [],
        "triggering_event_ids": [], "request_count": 0, "recommendation": "Held: the same test failed six times.",
    });
    let error = |incident: Value| {
        json!({ "error": {
            "message": "Held: the same test failed six times.", "type": "loop_watchdog_paused", "incident": incident,
        } })
    };
    assert_eq!(refused(&hold(None, false), &Value::Null), (409, error(incident)));
    let known = json!({ "incident_id": "inc-1", "created_at": "2026-11-15T17:00:00.000000Z", "score": 6.0 });
    assert_eq!(
        refused(&hold(None, false), &json!({ "incident": known })),
        (409, error(known)),
        "the known incident is sent"
    );
}

#[test]
fn a_killed_session_gets_the_score_of_a_kill() {
    let killed = Verdict::Stop { incident: "inc-2".to_owned(), reason: "Enough.".to_owned() };
    let (code, body) = refused(&killed, &Value::Null);
    assert_eq!((code, &body["error"]["type"]), (409, &"loop_watchdog_paused".into()));
    assert_eq!((&body["error"]["incident"]["score"], &body["error"]["message"]), (&999.0.into(), &"Enough.".into()));
}

#[test]
fn a_cooldown_has_its_end() {
    let error = json!({
        "message": "Held: the same test failed six times.", "type": "loop_watchdog_cooldown",
        "cooldown_until": "2026-11-15T17:56:10.250000+00:00",
    });
    assert_eq!(refused(&hold(Some(NOW), true), &Value::Null), (423, json!({ "error": error })));
}

#[test]
fn a_required_plan_is_named() {
    let status = json!({ "required_plan_preview": "Free the port first" });
    let error = json!({
        "message": "Held: the same test failed six times.", "type": "loop_watchdog_plan_required",
        "required_plan_preview": "Free the port first",
    });
    assert_eq!(refused(&hold(None, true), &status), (428, json!({ "error": error })));
}
