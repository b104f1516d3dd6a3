//! Messages and their delivery to channels.

use std::time::Duration;

use super::{Fixture, at, write};
use crate::{AttemptResult, Delivery, DeliveryState, NewMessage, Retention, Store};

const LEASE: Duration = Duration::from_millis(100);

pub(super) fn enqueue(store: &mut dyn Store, key: &str) -> bool {
    let message = NewMessage {
        key: key.to_owned(),
        topic: "incident_opened".to_owned(),
        payload: serde_json::json!({ "key": key }),
        at: at(10),
    };
    write(store, |transaction| transaction.enqueue(&message).unwrap())
}

fn route(store: &mut dyn Store, channels: &[&str], now: i64) -> usize {
    write(store, |transaction| transaction.route_messages(channels, at(now), 100).unwrap())
}

fn claim(store: &mut dyn Store, channel: &str, now: i64) -> Option<Delivery> {
    write(store, |transaction| transaction.claim_delivery(channel, at(now), LEASE).unwrap())
}

fn claimed_key(store: &mut dyn Store, channel: &str, now: i64) -> Option<String> {
    claim(store, channel, now).map(|delivery| delivery.message.key)
}

fn record(store: &mut dyn Store, delivery: &Delivery, result: &AttemptResult, now: i64) {
    write(store, |transaction| transaction.record_attempt(delivery, result, at(now)).unwrap());
}

fn retry(millis: u64) -> AttemptResult {
    AttemptResult::Retry { error: "refused".to_owned(), after: Duration::from_millis(millis) }
}

fn states(store: &dyn Store) -> Vec<(String, String, DeliveryState, u32)> {
    let deliveries = store.deliveries(None, 100).unwrap();
    deliveries.into_iter().map(|d| (d.message.key, d.channel, d.state, d.attempts)).collect()
}

pub fn a_message_is_enqueued_once(fixture: &impl Fixture) {
    let mut store = fixture.open();
    assert!(!store.due_work(at(10)).unwrap().unrouted);
    assert!(enqueue(&mut *store, "a"));
    assert!(!enqueue(&mut *store, "a"), "the key exists");
    assert!(store.due_work(at(10)).unwrap().unrouted);
    assert_eq!(store.pending_messages().unwrap(), 1);
    let messages = store.messages(10).unwrap();
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].payload, serde_json::json!({ "key": "a" }));
    assert_eq!((route(&mut *store, &["x"], 10), route(&mut *store, &["x"], 10)), (1, 0));
    let claimed = claim(&mut *store, "x", 10).unwrap();
    record(&mut *store, &claimed, &AttemptResult::Sent, 20);
    assert!(!enqueue(&mut *store, "a"), "the key exists after delivery, too");
    assert_eq!(store.pending_messages().unwrap(), 0);
    assert!(enqueue(&mut *store, "b"));
    assert_eq!(route(&mut *store, &[], 10), 1);
    assert_eq!(store.pending_messages().unwrap(), 0, "without channels nothing is pending");
}

pub fn each_channel_has_its_own_state(fixture: &impl Fixture) {
    let mut store = fixture.open();
    enqueue(&mut *store, "a");
    route(&mut *store, &["desktop", "webhook"], 10);
    assert_eq!(store.due_work(at(10)).unwrap().channels, ["desktop", "webhook"]);
    let desktop = claim(&mut *store, "desktop", 10).unwrap();
    record(&mut *store, &desktop, &AttemptResult::Skipped, 11);
    assert_eq!(store.due_work(at(11)).unwrap().channels, ["webhook"]);
    assert_eq!(store.pending_messages().unwrap(), 1);
    let webhook = claim(&mut *store, "webhook", 11).unwrap();
    assert_eq!(webhook.message, desktop.message);
    record(&mut *store, &webhook, &AttemptResult::Sent, 12);
    assert_eq!(
        states(&*store),
        [
            ("a".to_owned(), "desktop".to_owned(), DeliveryState::Skipped, 0),
            ("a".to_owned(), "webhook".to_owned(), DeliveryState::Sent, 1),
        ]
    );
    // A channel that is configured later gets later messages only.
    enqueue(&mut *store, "b");
    route(&mut *store, &["chat"], 20);
    assert_eq!(claimed_key(&mut *store, "chat", 20).as_deref(), Some("b"));
    assert_eq!(claimed_key(&mut *store, "webhook", 20), None);
}

pub fn a_claim_is_a_lease(fixture: &impl Fixture) {
    let (mut one, mut other) = (fixture.open(), fixture.open());
    for key in ["a", "b"] {
        enqueue(&mut *one, key);
    }
    route(&mut *one, &["x"], 10);
    assert_eq!(claimed_key(&mut *one, "x", 10).as_deref(), Some("a"));
    assert_eq!(claimed_key(&mut *other, "x", 10).as_deref(), Some("b"));
    assert_eq!(claimed_key(&mut *other, "x", 109), None);
    assert!(other.due_work(at(109)).unwrap().channels.is_empty());
    // The first process died; its deliveries are due again when its lease ends.
    let again = claim(&mut *other, "x", 110).unwrap();
    assert_eq!((again.message.key.as_str(), again.attempts), ("a", 2));
}

pub fn a_failure_is_retried_or_final(fixture: &impl Fixture) {
    let mut store = fixture.open();
    enqueue(&mut *store, "a");
    route(&mut *store, &["x"], 10);
    let first = claim(&mut *store, "x", 10).unwrap();
    record(&mut *store, &first, &retry(490), 10);
    assert_eq!(claim(&mut *store, "x", 499), None);
    let again = claim(&mut *store, "x", 500).unwrap();
    assert_eq!(again.message, first.message);
    assert_eq!(again.last_error.as_deref(), Some("refused"));
    record(&mut *store, &again, &AttemptResult::Failed { error: "refused again".to_owned() }, 501);
    assert_eq!(claim(&mut *store, "x", 99_999), None);
    let failed = store.deliveries(Some(DeliveryState::Failed), 10).unwrap();
    assert_eq!((failed[0].last_error.as_deref(), failed[0].attempts), (Some("refused again"), 2));
}

pub fn a_late_result_does_not_end_a_newer_claim(fixture: &impl Fixture) {
    let mut store = fixture.open();
    enqueue(&mut *store, "a");
    route(&mut *store, &["x"], 10);
    let slow = claim(&mut *store, "x", 10).unwrap();
    let newer = claim(&mut *store, "x", 110).unwrap();
    record(&mut *store, &slow, &retry(1), 120);
    assert_eq!(claim(&mut *store, "x", 130), None, "the newer lease holds");
    record(&mut *store, &slow, &AttemptResult::Sent, 140);
    record(&mut *store, &newer, &AttemptResult::Failed { error: "refused".to_owned() }, 150);
    assert_eq!(states(&*store)[0].2, DeliveryState::Sent, "the message arrived");
}

pub fn a_clock_set_back_does_not_extend_a_delay(fixture: &impl Fixture) {
    let mut store = fixture.open();
    enqueue(&mut *store, "a");
    route(&mut *store, &["x"], 1_000_000);
    let first = claim(&mut *store, "x", 1_000_000).unwrap();
    record(&mut *store, &first, &retry(500), 1_000_000);
    // The clock is set back by almost 1000 s. The delay of 500 ms starts again, and no more than that.
    assert_eq!(store.due_work(at(2_000)).unwrap().channels, ["x"]);
    assert_eq!(claim(&mut *store, "x", 2_000), None);
    assert!(store.due_work(at(2_499)).unwrap().channels.is_empty());
    assert!(claim(&mut *store, "x", 2_500).is_some());
    // The same for a lease whose process died.
    assert_eq!(claim(&mut *store, "x", 1_500), None);
    assert!(claim(&mut *store, "x", 1_600).is_some());
}

pub fn channels_without_configuration_are_skipped(fixture: &impl Fixture) {
    let mut store = fixture.open();
    enqueue(&mut *store, "a");
    route(&mut *store, &["old", "x"], 10);
    assert_eq!(write(&mut *store, |transaction| transaction.skip_other_channels(&["x"], at(11)).unwrap()), 1);
    assert_eq!(claim(&mut *store, "old", 99_999), None);
    assert!(claim(&mut *store, "x", 11).is_some());
    let skipped = store.deliveries(Some(DeliveryState::Skipped), 10).unwrap();
    assert_eq!(skipped[0].last_error.as_deref(), Some("the channel is not configured"));
}

pub fn retention_removes_finished_messages(fixture: &impl Fixture) {
    let mut store = fixture.open();
    enqueue(&mut *store, "finished");
    route(&mut *store, &["x"], 10);
    let claimed = claim(&mut *store, "x", 10).unwrap();
    record(&mut *store, &claimed, &AttemptResult::Sent, 10);
    enqueue(&mut *store, "pending");
    route(&mut *store, &["x", "y"], 10);
    let claimed = claim(&mut *store, "x", 10).unwrap();
    record(&mut *store, &claimed, &AttemptResult::Sent, 10);
    enqueue(&mut *store, "unrouted");
    let retention = Retention { max_age: Duration::from_millis(500), max_bytes: u64::MAX };
    store.prune(&retention, at(1_000)).unwrap();
    let keys: Vec<_> = store.messages(10).unwrap().into_iter().map(|message| message.key).collect();
    assert_eq!(keys, ["unrouted", "pending"]);
    assert_eq!(states(&*store).len(), 2);
}
