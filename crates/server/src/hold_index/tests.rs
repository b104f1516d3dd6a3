use belay_core::Timestamp;
use belay_core::session::ResumeCondition;

use super::*;

fn key() -> SessionKey {
    SessionKey::new("codex", "01a1")
}

fn paused() -> SessionState {
    SessionState::Paused {
        incident: "inc-1".to_owned(),
        since: Timestamp::UNKNOWN,
        until: None,
        gate: ResumeCondition::Operator,
    }
}

fn change(to: SessionState) -> Decision {
    Decision { effects: vec![Effect::StateChanged { from: SessionState::Active, to }], ..Decision::default() }
}

#[test]
fn a_pause_holds_until_the_state_changes_back() {
    let holds = HoldIndex::default();
    assert_eq!(holds.get(&key()), HoldState::Free);
    holds.apply_decision(&key(), false, &change(paused()));
    assert_eq!(holds.get(&key()), HoldState::Held);
    assert_eq!(holds.get(&SessionKey::new("codex", "other")), HoldState::Free);
    holds.apply_decision(&key(), false, &change(SessionState::Active));
    assert_eq!(holds.get(&key()), HoldState::Free);
}

#[test]
fn an_archived_session_keeps_its_hold() {
    let holds = HoldIndex::default();
    holds.apply_decision(
        &key(),
        false,
        &change(SessionState::Archived { at: Timestamp::UNKNOWN, was: Box::new(paused()) }),
    );
    assert_eq!(holds.get(&key()), HoldState::Held);
}

#[test]
fn the_verdict_on_a_request_sets_the_state() {
    let holds = HoldIndex::default();
    let stop = Verdict::Stop { incident: "inc-1".to_owned(), reason: String::new() };
    holds.apply_decision(&key(), true, &Decision { verdict: stop, ..Decision::default() });
    assert_eq!(holds.get(&key()), HoldState::Killed);
    holds.apply_decision(&key(), true, &Decision::default());
    assert_eq!(holds.get(&key()), HoldState::Free);
}

fn step(level: InterventionLevel) -> Decision {
    let finding: belay_core::Finding = serde_json::from_value(serde_json::json!({
        "id": "fnd-1", "pattern": "exact_repeat", "count": 2, "sentence": "", "unchanged": "", "progress_would_be": "",
        "evidence": [], "from_call": 0, "call": 1, "action": "a", "outcome": "b", "spent": {}, "at": Timestamp::UNKNOWN
    }))
    .unwrap();
    let step = belay_core::Intervention { level, finding, message: String::new(), alert: false, dry_run: false };
    Decision { effects: vec![Effect::Intervened(step)], ..Decision::default() }
}

#[test]
fn a_request_that_may_complete_the_evidence_asks_before_it_is_sent() {
    let holds = HoldIndex::default();
    let ask = |verdict: Verdict| holds.apply_decision(&key(), true, &Decision { verdict, ..Decision::default() });
    let nudge = || Verdict::Nudge { finding: "fnd-1".to_owned(), message: String::new() };
    holds.apply_decision(&key(), false, &step(InterventionLevel::Notice));
    assert_eq!(holds.get(&key()), HoldState::MustAsk);
    // The next request completes the evidence and carries the nudge.
    holds.apply_decision(&key(), false, &step(InterventionLevel::Nudge));
    ask(nudge());
    assert_eq!(holds.get(&key()), HoldState::MustAsk, "the one after it may carry the second");
    ask(nudge());
    ask(Verdict::Go);
    assert_eq!(holds.get(&key()), HoldState::Free);
}

#[tokio::test]
async fn a_waiter_is_woken_by_a_change() {
    let holds = HoldIndex::default();
    let changed = holds.changed();
    holds.apply_decision(&key(), false, &change(paused()));
    changed.await;
}
