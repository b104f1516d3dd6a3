use std::io::{BufRead, BufReader};
use std::sync::mpsc;

use super::*;

const WAIT: Duration = Duration::from_secs(60);

fn now(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000 + seconds * 1000)
}

/// Opens a ticket at second 0; the receiver gets its end.
fn open(tickets: &Tickets, id: &str) -> mpsc::Receiver<TicketEnd> {
    let (sender, ends) = mpsc::channel();
    let ticket = tickets.open(id, now(0) + WAIT, now(0), move |end| sender.send(end).unwrap()).unwrap();
    assert_eq!((ticket.id.as_str(), ticket.wait_ms), (id, 60_000));
    ends
}

#[test]
fn a_ticket_is_answered_once() {
    let tickets = Arc::<Tickets>::default();
    let ends = open(&tickets, "a");
    assert!(tickets.answer("a", "yes".into()), "the hook is on its way");
    assert!(!tickets.answer("a", "no".into()) && !tickets.answer("b", "yes".into()));
    tickets.release("a");
    assert!(ends.try_recv().is_err(), "an answer that was given is not taken back");
    let mut waiter = tickets.take("a").unwrap();
    assert!(tickets.take("a").is_none(), "one hook waits");
    assert_eq!(waiter.try_answer().as_deref(), Some("yes"));
    waiter.end(TicketEnd::Written);
    drop(waiter);
    assert_eq!(ends.try_iter().collect::<Vec<_>>(), [TicketEnd::Written]);
    assert!(tickets.is_empty());
}

#[test]
fn a_hook_that_does_not_come_or_leaves_is_gone() {
    let tickets = Arc::<Tickets>::default();
    let (lost, taken) = (open(&tickets, "lost"), open(&tickets, "taken"));
    let waiter = tickets.take("taken").unwrap();
    tickets.expire(now(9));
    assert!(!tickets.is_awaited("lost") && tickets.is_awaited("taken"));
    tickets.expire(now(10));
    assert_eq!(lost.try_recv(), Ok(TicketEnd::Gone));
    tickets.expire(now(600));
    assert!(taken.try_recv().is_err(), "its connection ends it");
    drop(waiter);
    assert_eq!(taken.try_recv(), Ok(TicketEnd::Gone));
    assert!(!tickets.answer("taken", String::new()));
}

#[test]
fn a_repeated_call_replaces_its_ticket() {
    let tickets = Arc::<Tickets>::default();
    let first = open(&tickets, "a");
    let old = tickets.take("a").unwrap();
    let second = open(&tickets, "a");
    assert_eq!(first.try_recv(), Ok(TicketEnd::Gone));
    drop(old);
    let mut new = tickets.take("a").unwrap();
    assert!(tickets.answer("a", "yes".into()));
    assert_eq!(new.try_answer().as_deref(), Some("yes"), "the old connection does not end the new ticket");
    drop(new);
    assert_eq!(second.try_iter().collect::<Vec<_>>(), [TicketEnd::Gone]);
}

#[test]
fn whoever_opened_a_ticket_may_open_the_next_one_at_its_end() {
    let tickets = Arc::<Tickets>::default();
    let again = Arc::clone(&tickets);
    let on_end = move |_| drop(again.open("b", now(70), now(10), |_| {}));
    tickets.open("a", now(60), now(0), on_end).unwrap();
    tickets.release("a");
    assert!(tickets.take("a").is_none() && tickets.take("b").is_some());
}

#[test]
fn the_number_of_tickets_is_bounded() {
    let tickets = Arc::<Tickets>::default();
    let many: Vec<_> = (0..MAX_OPEN).map(|number| open(&tickets, &number.to_string())).collect();
    assert!(tickets.open("more", now(60), now(1), |_| panic!("it was not opened")).is_none());
    let again = open(&tickets, "0");
    assert_eq!(many[0].try_recv(), Ok(TicketEnd::Gone), "a repeated call takes no place");
    tickets.expire(now(10));
    assert_eq!(again.try_recv(), Ok(TicketEnd::Gone));
    assert!(tickets.open("more", now(60), now(10), |_| {}).is_some());
}

/// What a hook reads from its connection, and how its ticket ended, if `act` happens while it waits.
fn read(wait: Duration, act: impl FnOnce(&Tickets, UnixStream) -> Option<UnixStream>) -> (String, Option<TicketEnd>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let tickets = Arc::<Tickets>::default();
    let (sender, ends) = mpsc::channel();
    let now = belay_clock::now();
    tickets.open("a", now + wait, now, move |end| sender.send(end).unwrap()).unwrap();
    let waiter = tickets.take("a");
    let (hook, served) = UnixStream::pair().unwrap();
    let hook = act(&tickets, hook);
    runtime.block_on(wait_and_respond(served, waiter)).unwrap();
    let mut line = String::new();
    if let Some(hook) = hook {
        BufReader::new(hook).read_line(&mut line).unwrap();
    }
    (line, ends.try_recv().ok())
}

#[test]
fn the_connection_of_a_hook_says_how_its_ticket_ended() {
    let (line, end) = read(WAIT, |tickets, hook| {
        assert!(tickets.answer("a", "{}".into()));
        Some(hook)
    });
    assert_eq!((line.as_str(), end), ("{\"ok\":{\"stdout\":\"{}\"}}\n", Some(TicketEnd::Written)));
    let nothing = "{\"ok\":{\"stdout\":\"\"}}\n".to_owned();
    assert_eq!(read(WAIT, |_, hook| Some(hook)), (nothing.clone(), Some(TicketEnd::TimedOut)));
    let released = read(WAIT, |tickets, hook| {
        tickets.release("a");
        Some(hook)
    });
    assert_eq!(released, (nothing, Some(TicketEnd::Released)));
    assert_eq!(read(WAIT, |_, _| None), (String::new(), Some(TicketEnd::Gone)), "the hook was killed");
}
