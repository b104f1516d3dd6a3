use std::sync::Mutex;
use std::time::Duration;

use belay_core::Timestamp;
use belay_store::DeliveryState;

use super::deliver_next;
use crate::alert::Alert;
use crate::channel::{Channel, DeliveryError};
use crate::test_support::TestOutbox;

/// Fails as long as it has errors.
#[derive(Debug, Default)]
struct Flaky {
    errors: Mutex<u32>,
    ids: Mutex<Vec<String>>,
    delays: Vec<Duration>,
    rejects: bool,
}

impl Flaky {
    fn failing(times: u32, delays: &[u64]) -> Self {
        let delays = delays.iter().map(|seconds| Duration::from_secs(*seconds)).collect();
        Self { errors: Mutex::new(times), delays, ..Self::default() }
    }
}

impl Channel for Flaky {
    fn name(&self) -> &str {
        "flaky"
    }

    fn describe(&self) -> String {
        "a test".to_owned()
    }

    fn accepts(&self, _alert: &Alert, _now: Timestamp) -> bool {
        !self.rejects
    }

    fn deliver(&self, alert: &Alert, _now: Timestamp) -> Result<(), DeliveryError> {
        self.ids.lock().expect("ids").push(alert.id.clone());
        let mut errors = self.errors.lock().expect("errors");
        if *errors == 0 {
            return Ok(());
        }
        *errors -= 1;
        Err(DeliveryError("refused".to_owned()))
    }

    fn retry_delays(&self) -> &[Duration] {
        &self.delays
    }
}

fn outbox_with(keys: &[&str]) -> TestOutbox {
    let outbox = TestOutbox::new();
    keys.iter().for_each(|key| outbox.enqueue(key));
    outbox.route(&["flaky"]);
    outbox
}

#[test]
fn a_failure_is_retried_after_each_delay_under_the_same_id() {
    let outbox = outbox_with(&["one"]);
    let channel = Flaky::failing(2, &[5, 30]);
    for (now, attempted) in [(0, true), (4, false), (5, true), (34, false), (35, true), (99, false)] {
        outbox.set_now(now);
        assert_eq!(deliver_next(&channel, &outbox).expect("a store"), attempted, "at {now} s");
    }
    assert_eq!(outbox.states(), [("flaky".to_owned(), DeliveryState::Sent, 3, None)]);
    assert_eq!(*channel.ids.lock().expect("ids"), ["msg_one", "msg_one", "msg_one"]);
}

#[test]
fn after_the_last_delay_a_failure_is_final() {
    let outbox = outbox_with(&["one"]);
    let channel = Flaky::failing(9, &[5]);
    assert!(deliver_next(&channel, &outbox).expect("a store"));
    assert_eq!(outbox.pending(), 1);
    outbox.set_now(5);
    assert!(deliver_next(&channel, &outbox).expect("a store"));
    assert_eq!(outbox.states(), [("flaky".to_owned(), DeliveryState::Failed, 2, Some("refused".to_owned()))]);
    assert_eq!(outbox.pending(), 0);
}

#[test]
fn a_clock_set_back_does_not_extend_a_delay() {
    // Back by a day, more than any delay, and by an hour, less than the longest one: 5 s remain 5 s.
    for base in [0, 82_800] {
        let outbox = outbox_with(&["one"]);
        let channel = Flaky::failing(1, &[5, 28_800]);
        for (now, attempted) in [(86_400, true), (base, false), (base + 4, false), (base + 5, true)] {
            outbox.set_now(now);
            assert_eq!(deliver_next(&channel, &outbox).expect("a store"), attempted, "at {now} s");
        }
    }
}

#[test]
fn a_rejected_alert_is_skipped_without_an_attempt() {
    let outbox = outbox_with(&["one"]);
    let channel = Flaky { rejects: true, ..Flaky::default() };
    assert!(deliver_next(&channel, &outbox).expect("a store"));
    assert_eq!(outbox.states(), [("flaky".to_owned(), DeliveryState::Skipped, 0, None)]);
    assert!(channel.ids.lock().expect("ids").is_empty());
}

#[test]
fn a_message_that_is_not_an_alert_fails_with_a_reason() {
    let outbox = TestOutbox::new();
    outbox.enqueue_payload("odd", serde_json::json!({ "session": 1 }));
    outbox.route(&["flaky"]);
    assert!(deliver_next(&Flaky::default(), &outbox).expect("a store"));
    let (_, state, _, error) = outbox.states().remove(0);
    assert_eq!(state, DeliveryState::Failed);
    assert!(error.expect("a reason").starts_with("the message is not an alert: "));
}
