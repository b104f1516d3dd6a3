//! Atomicity and optimistic concurrency control.

use belay_core::session::SESSION_FORMAT;
use belay_core::{Digest, SessionState};

use super::{Fixture, append, at, change, details, key, paused, seed, write};
use crate::{Durability, EventQuery, Snapshot, Store, StoreError};

pub fn a_dropped_transaction_is_rolled_back(fixture: &impl Fixture) {
    let mut store = fixture.open();
    {
        let mut transaction = store.begin(Durability::PowerCut).unwrap();
        let head = transaction.create(&key("a"), at(1)).unwrap();
        append(&mut *transaction, &head, 1, "x");
        transaction.save(head.id, &change(0, 1, &paused(), &details(1))).unwrap();
        transaction.put_setting("a", Some("b")).unwrap();
    }
    assert_eq!(store.session(&key("a")).unwrap(), None);
    assert_eq!(store.events(&EventQuery::default()).unwrap(), []);
    assert_eq!(store.setting("a").unwrap(), None);
    // The lock was released.
    seed(&mut *fixture.open(), &key("a"), &SessionState::Active, 1);
}

pub fn a_stale_update_is_a_conflict(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let id = seed(&mut *store, &key("a"), &SessionState::Active, 1);
    let mut other = fixture.open();
    write(&mut *other, |transaction| transaction.save(id, &change(1, 2, &paused(), &details(2))).unwrap());
    let mut transaction = store.begin(Durability::ProcessCrash).unwrap();
    let stale = transaction.save(id, &change(1, 2, &SessionState::Active, &details(3)));
    assert!(matches!(stale, Err(StoreError::Conflict(_))), "{stale:?}");
    assert_eq!(transaction.version(id).unwrap(), Some(2));
    drop(transaction);
    assert_eq!(store.session(&key("a")).unwrap().unwrap().state, paused());
}

pub fn readers_see_the_last_commit(fixture: &impl Fixture) {
    let (mut writer, reader) = (fixture.open(), fixture.open());
    seed(&mut *writer, &key("a"), &SessionState::Active, 1);
    let mut transaction = writer.begin(Durability::ProcessCrash).unwrap();
    let head = transaction.session_head(&key("a")).unwrap().unwrap();
    transaction.save(head.id, &change(1, 2, &paused(), &details(2))).unwrap();
    assert_eq!(
        reader.session(&key("a")).unwrap().unwrap().state,
        SessionState::Active,
        "uncommitted changes are invisible and do not block"
    );
    transaction.commit().unwrap();
    assert_eq!(reader.session(&key("a")).unwrap().unwrap().state, paused());
}

fn snapshot(seq: u64, format: u16) -> Snapshot {
    Snapshot { seq, format, rules: Digest(u64::MAX), data: format!("{{\"seq\":{seq}}}") }
}

/// Creates a session with ten events and the given snapshots.
fn with_snapshots(store: &mut dyn Store, snapshots: &[Snapshot]) {
    write(store, |transaction| {
        let head = transaction.create(&key("a"), at(1)).unwrap();
        let mut written = 0;
        for seq in 1..=10 {
            append(transaction, &head, seq, &seq.to_string());
            transaction.save(head.id, &change(seq - 1, seq, &SessionState::Active, &details(1))).unwrap();
            for snapshot in snapshots.iter().filter(|snapshot| snapshot.seq == seq) {
                transaction.snapshot(head.id, snapshot).unwrap();
                written = seq;
            }
        }
        assert_eq!(transaction.session_head(&key("a")).unwrap().unwrap().snapshot, written);
    });
}

pub fn a_load_returns_snapshot_and_tail(fixture: &impl Fixture) {
    let mut store = fixture.open();
    with_snapshots(
        &mut *store,
        &[snapshot(2, SESSION_FORMAT), snapshot(4, SESSION_FORMAT), snapshot(7, SESSION_FORMAT)],
    );
    let stored = store.load(&key("a"), SESSION_FORMAT).unwrap().unwrap();
    assert_eq!(stored.snapshot, Some(snapshot(7, SESSION_FORMAT)));
    assert_eq!(stored.tail.iter().map(|row| row.seq).collect::<Vec<_>>(), [8, 9, 10]);
    assert_eq!(stored.head.version, 10);
    let same = write(&mut *store, |transaction| transaction.load(stored.head.clone(), SESSION_FORMAT).unwrap());
    assert_eq!(same, stored);
    assert_eq!(store.load(&key("unknown"), SESSION_FORMAT).unwrap(), None);
}

pub fn snapshots_of_another_format_are_ignored(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let newer = SESSION_FORMAT + 1;
    with_snapshots(&mut *store, &[snapshot(3, SESSION_FORMAT), snapshot(6, SESSION_FORMAT), snapshot(9, newer)]);
    let ours = store.load(&key("a"), SESSION_FORMAT).unwrap().unwrap();
    assert_eq!(ours.snapshot, Some(snapshot(6, SESSION_FORMAT)), "the previous snapshot is retained");
    assert_eq!(ours.tail.len(), 4);
    let theirs = store.load(&key("a"), newer).unwrap().unwrap();
    assert_eq!(theirs.snapshot.unwrap().seq, 9);
    let neither = store.load(&key("a"), newer + 1).unwrap().unwrap();
    assert_eq!((neither.snapshot, neither.tail.len()), (None, 10));
}

pub fn rules_are_stored_once(fixture: &impl Fixture) {
    let mut store = fixture.open();
    write(&mut *store, |transaction| {
        transaction.put_rules(Digest(u64::MAX), "{}").unwrap();
        transaction.put_rules(Digest(u64::MAX), "{}").unwrap();
        assert_eq!(transaction.rules(Digest(u64::MAX)).unwrap().as_deref(), Some("{}"));
    });
    assert_eq!(store.rules(Digest(u64::MAX)).unwrap().as_deref(), Some("{}"));
    assert_eq!(store.rules(Digest(1)).unwrap(), None);
}
