use belay_core::task::Journalled;
use proptest::prelude::*;

use super::*;

const WEEK: i64 = 7 * 24 * 3600;

fn now(seconds: i64) -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000 + seconds * 1000)
}

fn id(name: &str) -> MessageId {
    MessageId::try_from(name.to_owned()).unwrap()
}

fn session() -> SessionKey {
    SessionKey::new("claude-code", "s1")
}

fn message(name: &str) -> Message {
    Message {
        id: id(name),
        to: session(),
        from: Some(Subject::review("r-1")),
        text: "Run the tests.".to_owned(),
        when: When::NextTool,
        expires: now(3600),
    }
}

fn mailbox() -> (tempfile::TempDir, Mailbox) {
    let dir = tempfile::tempdir().unwrap();
    let mailbox = Mailbox::open(&dir.path().join("mailbox.jsonl"), now(0)).unwrap();
    (dir, mailbox)
}

fn next(mailbox: &Mailbox, way: Way, hook: &str, at: i64) -> Option<String> {
    mailbox.mail().next(&session(), way, hook, now(at)).map(|message| message.id.to_string())
}

fn state(mailbox: &Mailbox, name: &str, at: i64) -> MailState {
    mailbox.mail().state(&id(name), now(at)).unwrap()
}

#[test]
fn messages_are_taken_in_the_order_in_which_they_were_sent_and_each_by_one_hook() {
    let (_dir, mailbox) = mailbox();
    assert_eq!(next(&mailbox, Way::AfterTool, "h1", 0), None);
    for name in ["m2", "m1"] {
        assert_eq!(mailbox.send(message(name), now(0)).unwrap(), MailState::Queued);
    }
    let late = Message { when: When::TurnEnd, ..message("m0") };
    mailbox.send(late, now(0)).unwrap();
    assert_eq!(next(&mailbox, Way::AfterTool, "h1", 1).as_deref(), Some("m2"));
    assert!(mailbox.take(&id("m2"), Way::AfterTool, "h1", now(1)));
    assert!(!mailbox.take(&id("m2"), Way::AfterTool, "h2", now(1)), "another hook of the session");
    assert_eq!(next(&mailbox, Way::AfterTool, "h2", 1).as_deref(), Some("m1"));
    assert!(mailbox.take(&id("m1"), Way::AfterTool, "h2", now(1)));
    assert_eq!(next(&mailbox, Way::AfterTool, "h3", 1), None, "the third waits for the end of the turn");
    assert_eq!(next(&mailbox, Way::TurnEnd, "h3", 1).as_deref(), Some("m0"));
    let other = SessionKey::new("claude-code", "s2");
    assert!(mailbox.mail().next(&other, Way::TurnEnd, "h3", now(1)).is_none(), "it is for one session");
}

#[test]
fn a_hook_that_did_not_get_a_message_leaves_it_for_the_next() {
    let (_dir, mailbox) = mailbox();
    mailbox.send(message("m1"), now(0)).unwrap();
    assert!(mailbox.take(&id("m1"), Way::AfterTool, "h1", now(1)));
    assert!(mailbox.failed(&id("m1"), "the hook was ended", now(2)));
    assert_eq!(state(&mailbox, "m1", 2), MailState::Queued);
    assert!(mailbox.take(&id("m1"), Way::AfterTool, "h2", now(3)) && mailbox.written(&id("m1"), now(3)));
    assert!(!mailbox.failed(&id("m1"), "late", now(4)), "it was written");
    assert!(mailbox.proven(&id("m1"), "tool_called", now(5)));
    assert_eq!(next(&mailbox, Way::TurnEnd, "h3", 60), None);
}

#[test]
fn without_proof_a_message_goes_another_way_once() {
    let (_dir, mailbox) = mailbox();
    mailbox.send(message("m1"), now(0)).unwrap();
    assert!(mailbox.take(&id("m1"), Way::AfterTool, "h1", now(1)) && mailbox.written(&id("m1"), now(1)));
    assert_eq!(state(&mailbox, "m1", 30), MailState::Delivered { at: now(1), way: Way::AfterTool });
    assert_eq!(next(&mailbox, Way::TurnEnd, "h2", 30), None, "it may still be read");
    assert_eq!(state(&mailbox, "m1", 31), MailState::Unconfirmed { since: now(31) });
    assert_eq!(next(&mailbox, Way::AfterTool, "h2", 31), None, "not in the same way");
    assert!(mailbox.take(&id("m1"), Way::TurnEnd, "h2", now(31)) && mailbox.written(&id("m1"), now(31)));
    for way in [Way::AfterTool, Way::TurnEnd] {
        assert_eq!(next(&mailbox, way, "h3", 100), None, "once");
    }
    assert!(mailbox.proven(&id("m1"), "prompt", now(101)), "proof may come late");
}

#[test]
fn the_text_of_a_driver_says_so_and_that_of_a_person_does_not() {
    assert_eq!(message("g-1.7").delivered_text(), "[Belay message g-1.7] Run the tests.");
    assert_eq!(Message { from: None, ..message("m1") }.delivered_text(), "Run the tests.");
}

#[test]
fn texts_and_ids_are_plain_and_bounded() {
    let (_dir, mailbox) = mailbox();
    let text = |text: &str| Message { text: text.to_owned(), ..message("m1") };
    assert!(matches!(mailbox.send(text(&"x".repeat(MAX_TEXT_BYTES + 1)), now(0)), Err(SendError::TooLong(_))));
    assert!(matches!(mailbox.send(text("\u{1b}\u{7}\n "), now(0)), Err(SendError::Empty)));
    let secret = ["ghp", "_", &"AbCdEf0123456789".repeat(3)[..36]].concat();
    let split = [&secret[..10], "\u{1}", &secret[10..]].concat();
    mailbox.send(text(&format!("a\u{1b}[2J\u{9b}b\n\tc {secret} {split}")), now(0)).unwrap();
    let mail = mailbox.mail();
    let kept = &mail.next(&session(), Way::TurnEnd, "h1", now(0)).unwrap().text;
    assert!(kept.starts_with("a[2Jb\n\tc ") && !kept.contains(&secret), "{kept}");
    for name in ["", "a b", "a]b", "a\nb", &"x".repeat(65)] {
        assert!(MessageId::try_from(name.to_owned()).is_err(), "{name}");
        assert!(serde_json::from_value::<MessageId>(name.into()).is_err(), "{name}");
    }
}

#[test]
fn a_session_does_not_fill_the_mailbox() {
    let (_dir, mailbox) = mailbox();
    for number in 0..MAX_QUEUED_PER_SESSION {
        mailbox.send(message(&format!("m{number}")), now(0)).unwrap();
    }
    assert!(matches!(mailbox.send(message("more"), now(0)), Err(SendError::Full(_))));
    assert_eq!(mailbox.send(message("m1"), now(0)).unwrap(), MailState::Queued, "sent twice, it counts once");
    mailbox.send(Message { to: SessionKey::new("codex", "t"), ..message("more") }, now(0)).unwrap();
    mailbox.send(message("later"), now(3600)).unwrap();
    assert_eq!(state(&mailbox, "m1", 3600), MailState::Expired);
    assert_eq!(next(&mailbox, Way::TurnEnd, "h1", 3600), None);
}

#[test]
fn ended_messages_are_forgotten_after_a_week_and_others_are_not() {
    let (dir, mailbox) = mailbox();
    mailbox.send(message("m1"), now(0)).unwrap();
    drop(mailbox);
    let open = |at| Mailbox::open(&dir.path().join("mailbox.jsonl"), now(at)).unwrap();
    assert!(open(WEEK - 1).mail().state(&id("m1"), now(1)).is_some());
    let endless = Message { expires: now(10 * WEEK), ..message("m2") };
    open(1).send(endless, now(1)).unwrap();
    let later = open(2 * WEEK);
    assert_eq!(later.mail().state(&id("m1"), now(1)), None);
    assert_eq!(state(&later, "m2", 2 * WEEK), MailState::Queued);
    assert_eq!(later.send(message("m3"), now(2 * WEEK)).unwrap(), MailState::Expired, "the journal goes on");
    assert!(open(11 * WEEK).mail().state(&id("m2"), now(1)).is_none());
}

/// The format of the journal, which later versions read.
#[test]
fn the_journal_is_readable() {
    let (dir, mailbox) = mailbox();
    mailbox.send(message("m1"), now(0)).unwrap();
    assert!(mailbox.take(&id("m1"), Way::TurnEnd, "h1", now(1)) && mailbox.written(&id("m1"), now(2)));
    assert!(mailbox.proven(&id("m1"), "tool_called", now(3)));
    let text = std::fs::read_to_string(dir.path().join("mailbox.jsonl")).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"at":"2027-01-15T08:00:00.000Z","record":"queued","message":{"id":"m1","to":{"agent":"claude-code","id":"s1"},"from":{"type":"review","id":"r-1"},"text":"Run the tests.","when":"next_tool","expires":"2027-01-15T09:00:00.000Z"}}"#,
            "\n",
            r#"{"at":"2027-01-15T08:00:01.000Z","record":"offered","id":"m1","way":"turn_end","hook":"h1"}"#,
            "\n",
            r#"{"at":"2027-01-15T08:00:02.000Z","record":"written","id":"m1"}"#,
            "\n",
            r#"{"at":"2027-01-15T08:00:03.000Z","record":"proven","id":"m1","by":"tool_called"}"#,
            "\n"
        )
    );
}

/// What may happen, in any order, and a crash between any two of them.
#[derive(Clone, Debug)]
enum Step {
    Hook {
        way: Way,
        hook: u8,
    },
    Written,
    Lost,
    Proven,
    Later(i64),
    /// The last record is lost with the process, or kept: what it was about has happened in any case.
    Crash {
        loses_record: bool,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let way = prop_oneof![Just(Way::AfterTool), Just(Way::TurnEnd)];
    let step = prop_oneof![
        4 => (way, 0..3u8).prop_map(|(way, hook)| Step::Hook { way, hook }),
        3 => Just(Step::Written),
        1 => Just(Step::Lost),
        1 => Just(Step::Proven),
        2 => (0..40i64).prop_map(Step::Later),
        2 => any::<bool>().prop_map(|loses_record| Step::Crash { loses_record }),
    ];
    proptest::collection::vec(step, 1..40)
}

proptest! {
    /// A hook has the text only after its `Offered` is on disk. So counting them bounds how often an agent may read it.
    #[test]
    fn a_message_is_never_delivered_again_after_proof_and_at_most_twice_before(steps in steps()) {
        let (dir, path) = { let dir = tempfile::tempdir().unwrap(); let path = dir.path().join("mailbox.jsonl"); (dir, path) };
        let mut mailbox = Mailbox::open(&path, now(0)).unwrap();
        mailbox.send(message("m1"), now(0)).unwrap();
        let (name, mut clock, mut proven) = (id("m1"), 0, false);
        // The ways and hooks that may have got the text.
        let mut given: Vec<(Way, u8)> = Vec::new();
        for step in steps {
            match step {
                Step::Hook { way, hook } => {
                    let hook_id = format!("h{hook}");
                    let offered = mailbox.mail().next(&session(), way, &hook_id, now(clock)).is_some();
                    prop_assert_eq!(offered, mailbox.take(&name, way, &hook_id, now(clock)), "what is offered can be taken");
                    if offered {
                        prop_assert!(!proven, "delivered again after proof");
                        // The same hook asks again only if it did not get the text.
                        given.retain(|(_, before)| *before != hook);
                        given.push((way, hook));
                    }
                }
                Step::Written => { mailbox.written(&name, now(clock)); }
                Step::Lost => if mailbox.failed(&name, "gone", now(clock)) {
                    given.pop();
                },
                Step::Proven => proven |= mailbox.proven(&name, "prompt", now(clock)),
                Step::Later(seconds) => clock += seconds,
                Step::Crash { loses_record } => {
                    drop(mailbox);
                    let text = std::fs::read_to_string(&path).unwrap();
                    let last = text.lines().last().unwrap_or_default();
                    // A lost `Written` or `Failed` leaves the fate open. A lost `Offered` was not acted on, a lost `Proven`
                    // not acknowledged.
                    if loses_record && ["written", "failed"].iter().any(|kind| last.contains(&format!("\"record\":\"{kind}\""))) {
                        std::fs::write(&path, &text[..text.len() - last.len() - 1 + last.len() / 2]).unwrap();
                    }
                    mailbox = Mailbox::open(&path, now(clock)).unwrap();
                }
            }
            prop_assert!(given.len() <= 2, "{:?}", given);
            prop_assert!(given.len() < 2 || given[0].0 != given[1].0, "another way: {:?}", given);
            prop_assert_eq!(proven, matches!(mailbox.mail().state(&name, now(clock)), Some(MailState::Proven { .. })));
        }
        drop(dir);
    }

    /// Every prefix of a journal is a journal, and what it tells can go on.
    #[test]
    fn every_prefix_of_a_journal_replays(cut in 0..6usize) {
        let all = [
            MailRecord::Queued { message: Box::new(message("m1")) },
            MailRecord::Offered { id: id("m1"), way: Way::AfterTool, hook: "h1".into() },
            MailRecord::Written { id: id("m1") },
            MailRecord::Offered { id: id("m1"), way: Way::TurnEnd, hook: "h2".into() },
            MailRecord::Proven { id: id("m1"), by: "prompt".into() },
        ];
        let mut mail = Mail::default();
        for (at, record) in all.iter().take(cut).enumerate() {
            mail.apply(now(at as i64 * 40), record).unwrap();
            prop_assert_eq!(mail.apply(now(at as i64 * 40), &all[0]), Err(MailError(id("m1"))), "a misfit changes nothing");
        }
        let may_go = mail.next(&session(), Way::TurnEnd, "h3", now(cut as i64 * 40)).is_some();
        prop_assert_eq!(may_go, (1..=3).contains(&cut));
    }
}
