//! What waits to be sent.

use std::time::Duration;

use super::{Fixture, at, write};
use crate::{MessageState, NewMessage, Store};

pub(super) fn enqueue(store: &mut dyn Store, key: &str) -> bool {
    let news = NewMessage {
        key: key.to_owned(),
        topic: "incident_opened".to_owned(),
        payload: serde_json::json!({ "key": key }),
        at: at(10),
    };
    write(store, |transaction| transaction.enqueue(&news).unwrap())
}

fn claim(store: &mut dyn Store, now: i64, limit: usize) -> Vec<(i64, String)> {
    let lease = Duration::from_millis(100);
    let claimed = write(store, |transaction| transaction.claim_due(at(now), lease, limit).unwrap());
    claimed.into_iter().map(|message| (message.id, message.key)).collect()
}

fn keys(claimed: &[(i64, String)]) -> Vec<&str> {
    claimed.iter().map(|(_, key)| key.as_str()).collect()
}

pub fn a_message_is_taken_once(fixture: &impl Fixture) {
    let mut store = fixture.open();
    assert!(enqueue(&mut *store, "a"));
    assert!(!enqueue(&mut *store, "a"), "the same news twice");
    let waiting = store.outbox(Some(MessageState::Pending), 10).unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].payload, serde_json::json!({ "key": "a" }));
    let claimed = claim(&mut *store, 10, 10);
    write(&mut *store, |transaction| transaction.mark_sent(claimed[0].0, at(20)).unwrap());
    assert!(!enqueue(&mut *store, "a"), "even after it was sent");
    assert_eq!(store.outbox(Some(MessageState::Sent), 10).unwrap().len(), 1);
    assert!(claim(&mut *store, 10_000, 10).is_empty());
}

pub fn a_claim_is_a_lease(fixture: &impl Fixture) {
    let (mut one, mut other) = (fixture.open(), fixture.open());
    for key in ["a", "b", "c"] {
        enqueue(&mut *one, key);
    }
    assert!(claim(&mut *one, 9, 10).is_empty(), "not due yet");
    assert_eq!(keys(&claim(&mut *one, 10, 2)), ["a", "b"]);
    assert_eq!(keys(&claim(&mut *other, 10, 10)), ["c"]);
    assert!(claim(&mut *other, 100, 10).is_empty());
    // The first sender died; its messages are due again when its lease ends.
    assert_eq!(keys(&claim(&mut *other, 110, 2)), ["a", "b"]);
    assert_eq!(other.outbox(None, 10).unwrap().last().unwrap().attempts, 2);
}

pub fn a_failure_is_tried_again_or_given_up(fixture: &impl Fixture) {
    let mut store = fixture.open();
    enqueue(&mut *store, "a");
    let first = claim(&mut *store, 10, 1);
    write(&mut *store, |transaction| transaction.mark_failed(first[0].0, "refused", Some(at(500))).unwrap());
    assert!(claim(&mut *store, 499, 1).is_empty());
    let again = claim(&mut *store, 500, 1);
    assert_eq!(again, first);
    write(&mut *store, |transaction| transaction.mark_failed(again[0].0, "refused again", None).unwrap());
    assert!(claim(&mut *store, 99_999, 1).is_empty());
    let given_up = store.outbox(Some(MessageState::Failed), 10).unwrap();
    assert_eq!(given_up[0].last_error.as_deref(), Some("refused again"));
    assert_eq!(given_up[0].attempts, 2);
}
