//! Alerts, outboxes and HTTP receivers for tests.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use belay_core::{Effect, SessionKey, Subject, Timestamp};
use belay_store::{Access, DeliveryState, Durability, NewMessage, Result, Store, StoreUrl};
use serde_json::json;

use crate::alert::{Alert, AlertKind};
use crate::attempt::Outbox;

/// Only a test that fails waits this long.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) fn alert(kind: AlertKind) -> Alert {
    Alert {
        id: "msg_incident_opened_inc_1".into(),
        kind,
        subject: Some(SessionKey::new("agent", "01a1").into()),
        at: Timestamp::parse("2026-11-15T18:00:00Z").expect("a timestamp"),
        pattern: Some("exact_repeat".into()),
        sentence: "The same call was made 5 times in a row: `npm test`.".into(),
        incident: Some("inc-1".into()),
        project: Some("/home/user/project".into()),
        link: None,
    }
}

pub(crate) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000) + Duration::from_secs(seconds)
}

/// An outbox on a temporary store, with a clock that the test sets.
pub(crate) struct TestOutbox {
    store: Mutex<Box<dyn Store>>,
    now: Mutex<Timestamp>,
    _dir: tempfile::TempDir,
}

impl TestOutbox {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let store = belay_store::open(&StoreUrl::local(dir.path().join("belay.db")), Access::Write).expect("a store");
        Self { store: Mutex::new(store), now: Mutex::new(at(0)), _dir: dir }
    }

    pub(crate) fn set_now(&self, seconds: u64) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = at(seconds);
    }

    pub(crate) fn enqueue(&self, key: &str) {
        let effect =
            Effect::NotifyOperator { pattern: "stall".into(), sentence: "Nothing has happened for 10 minutes.".into() };
        let subject = Subject::from(SessionKey::new("agent", "s"));
        self.enqueue_payload(key, json!({ "v": 2, "subject": subject, "at": at(0), "effect": effect }));
    }

    pub(crate) fn enqueue_payload(&self, key: &str, payload: serde_json::Value) {
        let message = NewMessage { key: key.into(), topic: "notify_operator".into(), payload, at: at(0) };
        let mut store = self.store.lock().expect("the store");
        let mut transaction = store.begin(Durability::ProcessCrash).expect("a transaction");
        assert!(transaction.enqueue(&message).expect("enqueued"));
        transaction.commit().expect("committed");
    }

    pub(crate) fn route(&self, channels: &[&str]) {
        let mut store = self.store.lock().expect("the store");
        let mut transaction = store.begin(Durability::ProcessCrash).expect("a transaction");
        transaction.route_messages(channels, self.now(), 100).expect("routed");
        transaction.commit().expect("committed");
    }

    /// State, attempts and error of each delivery, newest message first.
    pub(crate) fn states(&self) -> Vec<(String, DeliveryState, u32, Option<String>)> {
        let deliveries = self.store.lock().expect("the store").deliveries(None, 100).expect("deliveries");
        deliveries.into_iter().map(|d| (d.channel, d.state, d.attempts, d.last_error)).collect()
    }

    pub(crate) fn pending(&self) -> u64 {
        self.store.lock().expect("the store").pending_messages().expect("a count")
    }
}

impl Outbox for TestOutbox {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, work: &mut dyn FnMut(&dyn Store) -> Result<()>) -> Result<()> {
        work(&**self.store.lock().expect("the store"))
    }

    fn write(&self, work: &mut dyn FnMut(&mut dyn Store) -> Result<()>) -> Result<()> {
        work(&mut **self.store.lock().expect("the store"))
    }
}

/// A request that a receiver has read and not answered.
pub(crate) struct Request {
    pub(crate) text: String,
    stream: TcpStream,
}

impl Request {
    pub(crate) fn respond(mut self, response: &str) -> String {
        self.stream.write_all(response.as_bytes()).expect("a response");
        self.text
    }

    /// Writes one byte per packet.
    pub(crate) fn respond_bytewise(mut self, response: &str) {
        self.stream.set_nodelay(true).expect("an option");
        response.as_bytes().chunks(1).for_each(|byte| self.stream.write_all(byte).expect("a response"));
    }

    /// Repeats the last byte until the other side closes the connection.
    pub(crate) fn respond_endlessly(mut self, response: &str) {
        self.stream.write_all(response.as_bytes()).expect("a response");
        while self.stream.write_all(b"x").is_ok() {}
    }
}

/// An HTTP receiver on the loopback address. The test answers each request, or does not.
pub(crate) fn receiver() -> (u16, Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (send, requests) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(std::io::Result::ok) {
            let request = read_request(stream);
            if send.send(request).is_err() {
                return;
            }
        }
    });
    (port, requests)
}

fn read_request(mut stream: TcpStream) -> Request {
    let mut bytes = Vec::new();
    let mut chunk = [0; 1024];
    while !bytes.ends_with(b"}") {
        let read = stream.read(&mut chunk).expect("bytes");
        assert_ne!(read, 0, "the request ends with its body");
        bytes.extend_from_slice(&chunk[..read]);
    }
    Request { text: String::from_utf8(bytes).expect("text"), stream }
}
