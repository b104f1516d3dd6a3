use belay_core::Subject;
use belay_core::event::{ModelAnswered, Prompt, ToolCalled, TurnEnded};
use belay_tasks::mailbox::When;
use serde_json::json;

use super::*;

fn now(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000 + seconds * 1000)
}

fn message(from: Option<Subject>, text: &str) -> Message {
    let id = MessageId::try_from("g-1.7".to_owned()).unwrap();
    let to = SessionKey::new("claude-code", "s1");
    Message { id, to, from, text: text.to_owned(), when: When::TurnEnd, expires: now(3600) }
}

fn driver() -> Message {
    message(Some(Subject::review("r-1")), "Two tests fail:\n  a\n  b")
}

fn event(at: i64, body: Body) -> Event {
    Event::new("e1", SessionKey::new("claude-code", "s1"), Source::Hook, now(at), body)
}

fn prompt(by: Author, text: &str) -> Body {
    Body::Prompt(Prompt { by, text: Excerpt::new(text) })
}

#[test]
fn a_prompt_with_the_text_shows_that_it_was_read() {
    let read = |body, message: &Message| meaning(&event(5, body), message, now(5));
    for text in [
        "[Belay message g-1.7] Two tests fail:\n  a\n  b",
        "Stop hook feedback:\n[Belay message g-1.7] Two tests fail:\r\n a\r\n b",
        "<hook_prompt hook_run_id=\"1\">[Belay message g-1.7] Two tests fail: a b</hook_prompt>",
    ] {
        assert_eq!(read(prompt(Author::Continuation, text), &driver()), Meaning::Read("prompt"), "{text}");
    }
    let other = "[Belay message g-1.8] Two tests fail:\n  a\n  b";
    assert_eq!(read(prompt(Author::Continuation, other), &driver()), Meaning::Nothing, "another message");
    assert_eq!(read(prompt(Author::Person, "Two tests fail:\n  a"), &driver()), Meaning::PersonTookOver);
    let long = message(None, &"x y ".repeat(2000));
    assert_eq!(read(prompt(Author::Person, &"x y ".repeat(2000)), &long), Meaning::Read("prompt"), "an excerpt of it");
}

#[test]
fn work_after_the_delivery_shows_that_it_was_read_and_earlier_work_does_not() {
    let called = || Body::ToolCalled(ToolCalled::new(Some("c1".into()), None, "Bash", &json!({ "command": "ls" })));
    let ended = |interrupted, failed| Body::TurnEnded(TurnEnded { interrupted, failed, ..TurnEnded::default() });
    for (at, body, expected) in [
        (4, called(), Meaning::Nothing),
        (5, called(), Meaning::WorksOn("tool_called")),
        (6, Body::ModelAnswered(ModelAnswered::default()), Meaning::WorksOn("model_answered")),
        (6, Body::ModelAnswered(ModelAnswered { auxiliary: true, ..ModelAnswered::default() }), Meaning::Nothing),
        (6, ended(false, false), Meaning::WorksOn("turn_ended")),
        (6, ended(false, true), Meaning::Nothing),
        (6, ended(true, false), Meaning::PersonTookOver),
        (6, Body::Tick, Meaning::Nothing),
    ] {
        assert_eq!(meaning(&event(at, body.clone()), &driver(), now(5)), expected, "{body:?}");
    }
}

/// A hook that repeats its call before the first one was carried out: the end of its lost ticket is not that of the message.
#[test]
fn the_lost_ticket_of_a_repeated_call_does_not_end_the_delivery() {
    let dir = tempfile::tempdir().unwrap();
    let mail = Mail::open(&dir.path().join("mailbox.jsonl"));
    let tickets = Arc::<Tickets>::default();
    let mut worker = mail.worker(&tickets).unwrap();
    let (id, at) = (driver().id, belay_clock::now());
    let message = Message { expires: at + Duration::from_secs(60), ..driver() };
    worker.mailbox.send(message, at).unwrap();
    for ticket in ["t1", "t2"] {
        tickets.open(ticket, at + MAX_WAIT, at, |_| {}).unwrap();
        let (id, ticket) = (id.clone(), ticket.to_owned());
        worker.handle(Delivery::Offered { id, way: Way::TurnEnd, hook: "h1".into(), ticket, stdout: "{}".into() });
    }
    assert_eq!(tickets.take("t2").unwrap().try_answer().as_deref(), Some("{}"));
    worker.handle(Delivery::Ended { ticket: "t1".into(), end: TicketEnd::Gone });
    worker.handle(Delivery::Ended { ticket: "t2".into(), end: TicketEnd::Written });
    let state = worker.mailbox.mail().state(&id, at);
    assert!(matches!(state, Some(belay_tasks::mailbox::MailState::Delivered { .. })), "{state:?}");
    // Another hook of the session was offered the message as well, and does not get it.
    tickets.open("t3", at + MAX_WAIT, at, |_| {}).unwrap();
    let (way, stdout) = (Way::TurnEnd, "{}".to_owned());
    worker.handle(Delivery::Offered { id, way, hook: "h2".into(), ticket: "t3".into(), stdout });
    assert!(tickets.take("t3").is_none(), "it is released");
}

/// The hook gave up before it came for the message: the agent works on without it.
#[test]
fn work_proves_nothing_while_the_hook_has_not_come_for_the_message() {
    let dir = tempfile::tempdir().unwrap();
    let mail = Mail::open(&dir.path().join("mailbox.jsonl"));
    let tickets = Arc::<Tickets>::default();
    let mut worker = mail.worker(&tickets).unwrap();
    let (id, at) = (driver().id, belay_clock::now());
    worker.mailbox.send(Message { expires: at + Duration::from_secs(60), ..driver() }, at).unwrap();
    tickets.open("t1", at + MAX_WAIT, at, |_| {}).unwrap();
    let (way, stdout) = (Way::TurnEnd, "{}".to_owned());
    worker.handle(Delivery::Offered { id: id.clone(), way, hook: "h1".into(), ticket: "t1".into(), stdout });
    let works_on = || Delivery::Proven { id: id.clone(), by: "tool_called", has_text: false };
    worker.handle(works_on());
    worker.handle(Delivery::Ended { ticket: "t1".into(), end: TicketEnd::Gone });
    let state = |worker: &MailWorker| worker.mailbox.mail().state(&id, at);
    assert_eq!(state(&worker), Some(belay_tasks::mailbox::MailState::Queued), "the next hook gets it");
}
