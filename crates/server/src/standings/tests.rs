use belay_core::Time;
use belay_core::session::Gate;

use super::*;

fn key() -> SessionKey {
    SessionKey::new("codex", "01a1")
}

fn paused() -> State {
    State::Paused { incident: "inc-1".to_owned(), since: Time::UNKNOWN, until: None, gate: Gate::Person }
}

fn change(to: State) -> Decision {
    Decision { effects: vec![Effect::StateChanged { from: State::Active, to }], ..Decision::default() }
}

#[test]
fn a_pause_holds_until_the_state_changes_back() {
    let standings = Standings::default();
    assert_eq!(standings.of(&key()), Standing::Free);
    standings.note(&key(), false, &change(paused()));
    assert_eq!(standings.of(&key()), Standing::Held);
    assert_eq!(standings.of(&SessionKey::new("codex", "other")), Standing::Free);
    standings.note(&key(), false, &change(State::Active));
    assert_eq!(standings.of(&key()), Standing::Free);
}

#[test]
fn an_archived_session_is_held_by_what_held_it_before() {
    let standings = Standings::default();
    standings.note(&key(), false, &change(State::Archived { at: Time::UNKNOWN, was: Box::new(paused()) }));
    assert_eq!(standings.of(&key()), Standing::Held);
}

#[test]
fn the_answer_to_a_question_is_the_last_word() {
    let standings = Standings::default();
    let stop = Verdict::Stop { incident: "inc-1".to_owned(), reason: String::new() };
    standings.note(&key(), true, &Decision { verdict: stop, ..Decision::default() });
    assert_eq!(standings.of(&key()), Standing::Stopped);
    standings.note(&key(), true, &Decision::default());
    assert_eq!(standings.of(&key()), Standing::Free);
}

#[tokio::test]
async fn whoever_waits_hears_of_every_change() {
    let standings = Standings::default();
    let changed = standings.changed();
    standings.note(&key(), false, &change(paused()));
    changed.await;
}
