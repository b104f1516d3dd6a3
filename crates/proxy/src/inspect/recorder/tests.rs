use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::mpsc::Receiver;
use std::task::Poll;

use belay_agents::wire::{RequestHead, RequestIdentity, WireClient};
use belay_clock::now;
use belay_core::Body;
use belay_core::event::Author;

use super::*;
use crate::inspect::history::{MessageRef, NewMessages, RequestFields};
use crate::inspect::session_id::{RequestSender, SessionLabels};
use crate::inspect::wire::WireApi;
use crate::inspect::{Inspector, RequestMeta};
use crate::supervisor::{BoxFuture, HoldState};

/// Blocks until the test releases it, and counts requests and events.
struct Slow {
    notified: Mutex<Receiver<()>>,
    questions: Mutex<usize>,
    events: Mutex<usize>,
}

impl Supervisor for Slow {
    fn hold_state(&self, _: &SessionKey) -> HoldState {
        HoldState::Free
    }

    fn observe(&self, events: Vec<Event>) -> Vec<Verdict> {
        // Never blocks once the test has dropped the other end.
        let _ = self.notified.lock().unwrap().recv();
        *self.questions.lock().unwrap() +=
            events.iter().filter(|event| matches!(event.body, Body::ModelAsked(_))).count();
        *self.events.lock().unwrap() += events.len();
        events.iter().map(|_| Verdict::Go).collect()
    }

    fn hold_state_changed(&self) -> BoxFuture<()> {
        Box::pin(std::future::pending())
    }
}

struct Opencode;

impl RequestHead for Opencode {
    fn header(&self, name: &str) -> Option<&str> {
        match name {
            "user-agent" => Some("opencode/1"),
            "x-session-id" => Some("ses_1"),
            _ => None,
        }
    }

    fn path(&self) -> &str {
        "/v1/chat/completions"
    }
}

#[tokio::test]
async fn requests_wait_while_more_is_noted_than_can_be_told_and_nothing_is_lost() {
    let (notify, notified) = channel();
    let judge =
        Arc::new(Slow { notified: Mutex::new(notified), questions: Mutex::default(), events: Mutex::default() });
    let inspector = Arc::new(Inspector::new(Arc::<Slow>::clone(&judge), None).unwrap());
    let ask = |n: usize| {
        let text = format!("{n} ").repeat(512 * 1024);
        let body = serde_json::json!({ "messages": [{ "role": "user", "content": text }], "tools": [1] }).to_string();
        inspector.start(RequestMeta::parse("POST", &Opencode, None).unwrap(), None).read_request(Some(body.as_bytes()));
    };
    ask(0);
    assert!(is_ready(&mut pin!(inspector.wait_for_capacity())).await, "a little may always wait");
    (1..20).for_each(ask);
    let mut keep_up = pin!(inspector.wait_for_capacity());
    assert!(!is_ready(&mut keep_up).await, "this is more than may wait");
    drop(notify);
    // Blocks this thread: no time passes for the runtime, so only the notification can have woken it.
    inspector.flush(Duration::from_secs(30));
    assert!(is_ready(&mut keep_up).await);
    assert!(is_ready(&mut pin!(inspector.wait_for_capacity())).await);
    assert_eq!(*judge.questions.lock().unwrap(), 20);
}

async fn is_ready(future: &mut (impl Future<Output = ()> + Unpin)) -> bool {
    poll_fn(|cx| Poll::Ready(std::pin::Pin::new(&mut *future).poll(cx).is_ready())).await
}

/// A wire client whose parser panics.
#[derive(Debug)]
struct Faulty;

impl WireClient for Faulty {
    fn agent(&self) -> &'static str {
        "faulty"
    }

    fn identify(&self, _: &dyn RequestHead) -> Option<RequestIdentity> {
        None
    }

    fn user_prompt<'t>(&self, text: &'t str) -> Option<(Author, &'t str)> {
        assert_ne!(text, "trouble", "a fault of ours");
        Some((Author::Person, text))
    }
}

fn meta() -> RequestMeta {
    let sender = RequestSender {
        client: &Faulty,
        identity: RequestIdentity::default(),
        session: None,
        expects_supervisor_refusal: false,
        plan: None,
        account: None,
        labels: SessionLabels::default(),
    };
    RequestMeta { api: WireApi::Chat, sender, model: None, encoding: None, unverified: false }
}

fn request(id: &str) -> Arc<RequestRecord> {
    Arc::new(RequestRecord {
        session: SessionKey::new("faulty", "1"),
        meta: Arc::new(meta()),
        id: id.to_owned(),
        at: now(),
        auxiliary: false,
        labels: SessionLabels::default(),
        model: None,
        bytes: 1,
        plan: None,
    })
}

#[test]
fn a_fault_over_one_request_is_not_the_end_of_all_recording() {
    let (notify, notified) = channel();
    let judge =
        Arc::new(Slow { notified: Mutex::new(notified), questions: Mutex::default(), events: Mutex::default() });
    drop(notify);
    let recorder = Recorder::start(Arc::<Slow>::clone(&judge)).unwrap();
    for text in ["trouble", "no trouble"] {
        let body = format!(r#"{{"role":"user","content":[{{"text":"before"}},{{"text":"{text}"}}]}}"#);
        let messages = vec![MessageRef { place: 0, range: 0..body.len() }];
        let found = NewMessages { fields: RequestFields::default(), messages, afresh: false };
        let new_messages = Some(NewMessageBytes::copy(body.as_bytes(), found));
        recorder.push(Record::Request { request: request(text), new_messages, verdict: None });
    }
    recorder.flush(Duration::from_secs(30));
    assert_eq!(*judge.questions.lock().unwrap(), 1, "the other one is recorded");
    assert_eq!(*judge.events.lock().unwrap(), 3, "and half of a request is not");
}

/// Panics on the first batch, and stops every later request.
#[derive(Default)]
struct Stumbling(std::sync::atomic::AtomicBool);

impl Supervisor for Stumbling {
    fn hold_state(&self, _: &SessionKey) -> HoldState {
        HoldState::MustAsk
    }

    fn observe(&self, events: Vec<Event>) -> Vec<Verdict> {
        assert!(self.0.swap(true, std::sync::atomic::Ordering::Relaxed), "a fault of ours");
        events.iter().map(|_| Verdict::Stop { incident: String::new(), reason: String::new() }).collect()
    }

    fn hold_state_changed(&self) -> BoxFuture<()> {
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_fault_of_whoever_judges_leaves_who_waits_without_a_verdict_and_nobody_else() {
    let recorder = Recorder::start(Arc::new(Stumbling::default())).unwrap();
    let verdicts = ["first", "second"].map(|id| {
        let (sender, receiver) = oneshot::channel();
        recorder.push(Record::Request { request: request(id), new_messages: None, verdict: Some(sender) });
        recorder.flush(Duration::from_secs(30));
        receiver.blocking_recv()
    });
    assert!(verdicts[0].is_err(), "{verdicts:?}");
    assert!(matches!(&verdicts[1], Ok(Verdict::Stop { .. })), "{verdicts:?}");
}
