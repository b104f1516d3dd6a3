//! The event log.

use belay_core::{Digest, SessionState};

use super::{Fixture, append, at, change, details, key, seed, write};
use crate::{Durability, EventQuery, EventRow, Order, Store};

/// Creates a session with `events` events.
fn fill(store: &mut dyn Store, id: &str, events: u64) {
    write(store, |transaction| {
        let head = transaction.create(&key(id), at(1)).unwrap();
        for seq in 1..=events {
            assert!(append(transaction, &head, seq, &format!("{id}-{seq}")));
        }
        transaction.save(head.id, &change(0, events, &SessionState::Active, &details(1))).unwrap();
    });
}

fn numbers(rows: &[EventRow]) -> Vec<u64> {
    rows.iter().map(|row| row.seq).collect()
}

pub fn events_are_numbered_and_stored_as_written(fixture: &impl Fixture) {
    let mut store = fixture.open();
    fill(&mut *store, "a", 3);
    let query = EventQuery { session: Some(key("a")), ..EventQuery::default() };
    let rows = fixture.open().events(&query).unwrap();
    assert_eq!(numbers(&rows), [1, 2, 3]);
    assert_eq!(rows[1].json, "{\"id\":\"a-2\"}");
    assert_eq!((rows[1].kind.as_str(), rows[1].at, rows[1].rules), ("note", at(1002), Digest(7)));
    assert_eq!(rows[1].session, key("a"));
}

pub fn an_identity_counts_once_per_session(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let many = 600;
    fill(&mut *store, "a", many);
    seed(&mut *store, &key("b"), &SessionState::Active, 1);
    write(&mut *store, |transaction| {
        let a = transaction.session_head(&key("a")).unwrap().unwrap();
        for old in 1..=many {
            assert!(!append(transaction, &a, many + 1, &format!("a-{old}")), "recorded twice: {old}");
        }
        assert!(append(transaction, &a, many + 1, "new"));
        transaction.save(a.id, &change(many, many + 1, &SessionState::Active, &details(1))).unwrap();
        let b = transaction.session_head(&key("b")).unwrap().unwrap();
        assert!(append(transaction, &b, 2, "a-1"), "identities are per session");
    });
    let query = EventQuery { session: Some(key("a")), order: Order::Last, limit: 1, ..EventQuery::default() };
    assert_eq!(numbers(&store.events(&query).unwrap()), [many + 1]);
}

pub fn limits_keep_the_first_or_the_last_events(fixture: &impl Fixture) {
    let mut store = fixture.open();
    fill(&mut *store, "a", 10);
    let of_a = || EventQuery { session: Some(key("a")), limit: 3, ..EventQuery::default() };
    let read = |query: EventQuery| numbers(&store.events(&query).unwrap());
    assert_eq!(read(of_a()), [1, 2, 3]);
    assert_eq!(read(EventQuery { after: Some(3), ..of_a() }), [4, 5, 6]);
    assert_eq!(read(EventQuery { order: Order::Last, ..of_a() }), [8, 9, 10]);
    assert_eq!(read(EventQuery { order: Order::Last, after: Some(8), ..of_a() }), [9, 10]);
    assert_eq!(read(EventQuery { kinds: vec!["note".into()], ..of_a() }), [2, 4, 6]);
    assert_eq!(read(EventQuery { session: Some(key("unknown")), ..of_a() }), [] as [u64; 0]);
}

pub fn interleaved_sessions_keep_their_order(fixture: &impl Fixture) {
    let mut store = fixture.open();
    // Two sessions alternate in one large transaction; then one event per transaction follows.
    const EACH: u64 = 300;
    let ids = write(&mut *store, |transaction| {
        let heads = ["a", "b"].map(|id| transaction.create(&key(id), at(1)).unwrap());
        for seq in 1..=EACH {
            for head in &heads {
                assert!(append(transaction, head, seq, &format!("{}-{seq}", head.id.0)));
            }
        }
        heads.map(|head| {
            transaction.save(head.id, &change(0, EACH, &SessionState::Active, &details(1))).unwrap();
            head.id
        })
    });
    for seq in EACH + 1..=EACH + 10 {
        write(&mut *store, |transaction| {
            let head = transaction.session_head(&key("a")).unwrap().unwrap();
            assert!(append(transaction, &head, seq, &format!("{}-{seq}", head.id.0)));
            transaction.save(head.id, &change(seq - 1, seq, &SessionState::Active, &details(1))).unwrap();
        });
    }
    let all = store.events(&EventQuery { limit: 1000, ..EventQuery::default() }).unwrap();
    assert_eq!(all.len() as u64, 2 * EACH + 10);
    assert!(all.windows(2).all(|pair| pair[0].ord < pair[1].ord), "every event has its own position");
    for (id, session, count) in [("a", ids[0], EACH + 10), ("b", ids[1], EACH)] {
        let of = || EventQuery { session: Some(key(id)), limit: 1000, ..EventQuery::default() };
        let rows = store.events(&of()).unwrap();
        assert_eq!(numbers(&rows), (1..=count).collect::<Vec<_>>());
        for row in &rows {
            assert_eq!((row.at, row.rules), (at(1000 + i64::try_from(row.seq).unwrap()), Digest(7)));
            assert_eq!(row.json, format!("{{\"id\":\"{}-{}\"}}", session.0, row.seq));
        }
        let in_store: Vec<_> = all.iter().filter(|row| *row.session.id == *id).cloned().collect();
        assert_eq!(in_store, rows, "both queries return the same rows");
        for after in [1, 7, 128, 255, 256, EACH - 1] {
            let read = |query: EventQuery| numbers(&store.events(&query).unwrap());
            assert_eq!(read(EventQuery { after: Some(after), limit: 2, ..of() })[0], after + 1);
            let last = EventQuery { after: Some(after), order: Order::Last, limit: 2, ..of() };
            assert_eq!(read(last).last(), Some(&count));
            let kinds = EventQuery { after: Some(after), kinds: vec!["note".into()], limit: 2, ..of() };
            assert_eq!(read(kinds)[0], (after + 2) / 2 * 2);
            let tail = store.load(&key(id), 0).unwrap().unwrap().tail;
            assert_eq!(numbers(&tail), (1..=count).collect::<Vec<_>>());
        }
    }
    // Reading after any event returns its successors.
    for index in [0, 5, 130, 299, 450, 605] {
        let after = Some(u64::try_from(all[index].ord).unwrap());
        let next = store.events(&EventQuery { after, limit: 3, ..EventQuery::default() }).unwrap();
        assert_eq!(next, all[index + 1..index + 4]);
    }
}

pub fn duplicates_are_detected_at_any_age(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let mut seq = 0;
    // Batches of various sizes; a second connection takes over at the tenth.
    for (round, size) in [1, 40, 128, 3, 200, 1, 1, 1, 1, 1, 1, 90, 7, 513, 1, 1].into_iter().enumerate() {
        if round == 9 {
            store = fixture.open();
        }
        write(&mut *store, |transaction| {
            let head = match transaction.session_head(&key("a")).unwrap() {
                Some(head) => head,
                None => transaction.create(&key("a"), at(1)).unwrap(),
            };
            let from = seq;
            for _ in 0..size {
                seq += 1;
                assert!(append(transaction, &head, seq, &format!("fact-{seq}")));
                for old in [1, seq.div_ceil(2), seq] {
                    assert!(!append(transaction, &head, seq + 1, &format!("fact-{old}")), "{old} at {seq}");
                }
            }
            transaction.save(head.id, &change(from, seq, &SessionState::Active, &details(1))).unwrap();
        });
    }
    for mut store in [store, fixture.open()] {
        // Dropped without a commit, so that both connections see the same log.
        let mut transaction = store.begin(Durability::ProcessCrash).unwrap();
        let head = transaction.session_head(&key("a")).unwrap().unwrap();
        for old in 1..=seq {
            assert!(!append(&mut *transaction, &head, seq + 1, &format!("fact-{old}")), "{old} of {seq}");
        }
        assert!(append(&mut *transaction, &head, seq + 1, "new"));
    }
}

pub fn the_log_of_all_sessions_can_be_followed(fixture: &impl Fixture) {
    let mut store = fixture.open();
    fill(&mut *store, "a", 2);
    let last = store.events(&EventQuery { order: Order::Last, limit: 1, ..EventQuery::default() }).unwrap();
    let position = u64::try_from(last[0].ord).unwrap();
    fill(&mut *store, "b", 2);
    let new = store.events(&EventQuery { after: Some(position), ..EventQuery::default() }).unwrap();
    let new: Vec<_> = new.iter().map(|row| (&*row.session.id, row.seq)).collect();
    assert_eq!(new, [("b", 1), ("b", 2)]);
}

pub fn a_change_token_changes_with_every_commit(fixture: &impl Fixture) {
    let (mut store, mut other) = (fixture.open(), fixture.open());
    let before = store.change_token().unwrap();
    assert_eq!(store.change_token().unwrap(), before);
    write(&mut *other, |transaction| transaction.put_setting("a", Some("1")).unwrap());
    let theirs = store.change_token().unwrap();
    assert_ne!(theirs, before, "another connection's commit");
    write(&mut *store, |transaction| transaction.put_setting("a", Some("2")).unwrap());
    let ours = store.change_token().unwrap();
    assert_ne!(ours, theirs, "our own commit");
    assert_eq!(store.change_token().unwrap(), ours);
}
