use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belay_core::Timestamp;
use belay_store::DeliveryState;

use super::Dispatcher;
use crate::alert::Alert;
use crate::attempt::Outbox;
use crate::channel::{Channel, DeliveryError};
use crate::channels::webhook;
use crate::test_support::{TEST_TIMEOUT, TestOutbox, receiver};

const NO_CONTENT: &str = "HTTP/1.1 204 No Content\r\n\r\n";

/// Reports each alert to the test.
#[derive(Debug)]
struct Reporting {
    name: &'static str,
    delivered: Mutex<Sender<String>>,
}

impl Reporting {
    fn with_receiver(name: &'static str) -> (Box<dyn Channel>, Receiver<String>) {
        let (send, delivered) = channel();
        (Box::new(Self { name, delivered: Mutex::new(send) }), delivered)
    }
}

impl Channel for Reporting {
    fn name(&self) -> &str {
        self.name
    }

    fn describe(&self) -> String {
        "a test".to_owned()
    }

    fn deliver(&self, alert: &Alert, _now: Timestamp) -> Result<(), DeliveryError> {
        self.delivered
            .lock()
            .expect("a sender")
            .send(alert.id.clone())
            .map_err(|error| DeliveryError(error.to_string()))
    }
}

fn next(delivered: &Receiver<String>) -> String {
    delivered.recv_timeout(TEST_TIMEOUT).expect("an alert")
}

fn start(channels: Vec<Box<dyn Channel>>) -> (Dispatcher, Arc<TestOutbox>) {
    let outbox = Arc::new(TestOutbox::new());
    let shared: Arc<dyn Outbox> = outbox.clone();
    (Dispatcher::start(channels, shared).expect("threads"), outbox)
}

#[test]
fn a_webhook_that_hangs_delays_no_other_channel() {
    let (port, requests) = receiver();
    let (desktop, shown) = Reporting::with_receiver("desktop");
    let (mut dispatcher, outbox) = start(vec![webhook::to_local_port(port, TEST_TIMEOUT), desktop]);
    outbox.enqueue("one");
    dispatcher.poll().expect("a store");
    let hanging = requests.recv_timeout(TEST_TIMEOUT).expect("a request");
    assert_eq!(next(&shown), "msg_one");
    // The receiver has not responded. The second alert reaches the desktop all the same.
    outbox.enqueue("two");
    dispatcher.poll().expect("a store");
    assert_eq!(next(&shown), "msg_two");
    assert!(requests.try_recv().is_err(), "the webhook is still busy with the first alert");
    assert_eq!(outbox.pending(), 2);
    hanging.respond(NO_CONTENT);
    let second = requests.recv_timeout(TEST_TIMEOUT).expect("a request");
    assert!(second.respond(NO_CONTENT).contains("webhook-id: msg_two"));
    assert!(dispatcher.shutdown(TEST_TIMEOUT));
    assert!(outbox.states().iter().all(|(_, state, attempts, _)| (*state, *attempts) == (DeliveryState::Sent, 1)));
}

#[test]
fn a_shutdown_does_not_wait_for_a_hanging_channel() {
    let (port, requests) = receiver();
    let (mut dispatcher, outbox) = start(vec![webhook::to_local_port(port, TEST_TIMEOUT)]);
    outbox.enqueue("one");
    dispatcher.poll().expect("a store");
    let _hanging = requests.recv_timeout(TEST_TIMEOUT).expect("a request");
    assert!(!dispatcher.shutdown(Duration::ZERO));
    assert_eq!(outbox.pending(), 1, "the next process repeats it");
}

#[test]
fn without_channels_nothing_stays_pending() {
    let (mut dispatcher, outbox) = start(Vec::new());
    outbox.enqueue("one");
    assert_eq!(outbox.pending(), 1);
    dispatcher.poll().expect("a store");
    assert_eq!((outbox.pending(), outbox.states()), (0, Vec::new()));
    assert!(dispatcher.shutdown(TEST_TIMEOUT));
}

#[test]
fn deliveries_to_a_removed_channel_are_skipped() {
    let (desktop, shown) = Reporting::with_receiver("desktop");
    let (mut dispatcher, outbox) = start(vec![desktop]);
    outbox.enqueue("one");
    outbox.route(&["desktop", "removed"]);
    dispatcher.poll().expect("a store");
    assert_eq!(next(&shown), "msg_one");
    assert!(dispatcher.shutdown(TEST_TIMEOUT));
    assert_eq!(outbox.pending(), 0);
    let states: Vec<_> = outbox.states().into_iter().map(|(channel, state, ..)| (channel, state)).collect();
    assert_eq!(states, [("desktop".to_owned(), DeliveryState::Sent), ("removed".to_owned(), DeliveryState::Skipped)]);
}
