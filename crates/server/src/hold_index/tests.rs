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
    let standings = HoldIndex::default();
    assert_eq!(standings.get(&key()), HoldState::Free);
    standings.apply_decision(&key(), false, &change(paused()));
    assert_eq!(standings.get(&key()), HoldState::Held);
    assert_eq!(standings.get(&SessionKey::new("codex", "other")), HoldState::Free);
    standings.apply_decision(&key(), false, &change(SessionState::Active));
    assert_eq!(standings.get(&key()), HoldState::Free);
}

#[test]
fn an_archived_session_is_held_by_what_held_it_before() {
    let standings = HoldIndex::default();
    standings.apply_decision(
        &key(),
        false,
        &change(SessionState::Archived { at: Timestamp::UNKNOWN, was: Box::new(paused()) }),
    );
    assert_eq!(standings.get(&key()), HoldState::Held);
}

#[test]
fn the_answer_to_a_question_is_the_last_word() {
    let standings = HoldIndex::default();
    let stop = Verdict::Stop { incident: "inc-1".to_owned(), reason: String::new() };
    standings.apply_decision(&key(), true, &Decision { verdict: stop, ..Decision::default() });
    assert_eq!(standings.get(&key()), HoldState::Killed);
    standings.apply_decision(&key(), true, &Decision::default());
    assert_eq!(standings.get(&key()), HoldState::Free);
}

#[tokio::test]
async fn whoever_waits_hears_of_every_change() {
    let standings = HoldIndex::default();
    let changed = standings.changed();
    standings.apply_decision(&key(), false, &change(paused()));
    changed.await;
}
