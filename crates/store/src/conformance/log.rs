//! The log of events.

use belay_core::{Digest, State};

use super::{Fixture, append, at, card, change, key, seed, write};
use crate::{EventQuery, EventRow, Order, Store, UNFILED};

/// A session with that many events.
fn fill(store: &mut dyn Store, id: &str, events: u64) {
    write(store, |transaction| {
        let head = transaction.create(&key(id), at(1)).unwrap();
        for seq in 1..=events {
            assert!(append(transaction, &head, seq, &format!("{id}-{seq}")));
        }
        transaction.save(head.id, &change(0, events, &State::Active, &card(1))).unwrap();
    });
}

fn numbers(rows: &[EventRow]) -> Vec<u64> {
    rows.iter().map(|row| row.seq).collect()
}

pub fn events_are_numbered_and_kept_as_written(fixture: &impl Fixture) {
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
    let (many, long) = (2 * UNFILED + 10, UNFILED + 10);
    fill(&mut *store, "a", many);
    seed(&mut *store, &key("b"), &State::Active, 1);
    write(&mut *store, |transaction| {
        let a = transaction.head(&key("a")).unwrap().unwrap();
        for old in 1..=long {
            assert!(!append(transaction, &a, many + 1, &format!("a-{old}")), "the same fact twice: {old}");
        }
        assert!(append(transaction, &a, many + 1, "new"));
        transaction.save(a.id, &change(many, many + 1, &State::Active, &card(1))).unwrap();
        let b = transaction.head(&key("b")).unwrap().unwrap();
        assert!(append(transaction, &b, 2, "a-1"), "another session may know the same id");
    });
    let query = EventQuery { session: Some(key("a")), order: Order::Last, limit: 1, ..EventQuery::default() };
    assert_eq!(numbers(&store.events(&query).unwrap()), [many + 1]);
}

pub fn both_ends_of_a_log_can_be_read(fixture: &impl Fixture) {
    let mut store = fixture.open();
    fill(&mut *store, "a", 10);
    let of_a = || EventQuery { session: Some(key("a")), limit: 3, ..EventQuery::default() };
    let read = |query: EventQuery| numbers(&store.events(&query).unwrap());
    assert_eq!(read(of_a()), [1, 2, 3]);
    assert_eq!(read(EventQuery { after: Some(3), ..of_a() }), [4, 5, 6]);
    assert_eq!(read(EventQuery { order: Order::Last, ..of_a() }), [8, 9, 10]);
    assert_eq!(read(EventQuery { order: Order::Last, after: Some(8), ..of_a() }), [9, 10]);
    assert_eq!(read(EventQuery { kinds: vec!["note".into()], ..of_a() }), [2, 4, 6]);
    assert_eq!(read(EventQuery { session: Some(key("nobody")), ..of_a() }), [] as [u64; 0]);
}

pub fn the_whole_store_can_be_followed(fixture: &impl Fixture) {
    let mut store = fixture.open();
    fill(&mut *store, "a", 2);
    let last = store.events(&EventQuery { order: Order::Last, limit: 1, ..EventQuery::default() }).unwrap();
    let mark = u64::try_from(last[0].ord).unwrap();
    fill(&mut *store, "b", 2);
    let news = store.events(&EventQuery { after: Some(mark), ..EventQuery::default() }).unwrap();
    let news: Vec<_> = news.iter().map(|row| (row.session.id.as_str(), row.seq)).collect();
    assert_eq!(news, [("b", 1), ("b", 2)]);
}

pub fn a_mark_changes_with_every_commit(fixture: &impl Fixture) {
    let (mut store, mut other) = (fixture.open(), fixture.open());
    let before = store.mark().unwrap();
    assert_eq!(store.mark().unwrap(), before);
    write(&mut *other, |transaction| transaction.put_setting("a", Some("1")).unwrap());
    let theirs = store.mark().unwrap();
    assert_ne!(theirs, before, "another connection's commit");
    write(&mut *store, |transaction| transaction.put_setting("a", Some("2")).unwrap());
    let ours = store.mark().unwrap();
    assert_ne!(ours, theirs, "our own commit");
    assert_eq!(store.mark().unwrap(), ours);
}
