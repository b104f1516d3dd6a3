//! What is kept and what goes.

use std::time::Duration;

use belay_core::{Incident, InterventionLevel, SessionState};

use super::{Fixture, append, at, change, details, key, paused, seed, write};
use crate::{EventQuery, Pruned, Retention, SessionQuery, Store};

const DAY: i64 = 86_400_000;

fn clean(store: &mut dyn Store, retention: &Retention, now: i64) -> Pruned {
    let mut all = Pruned::default();
    loop {
        let slice = store.prune(retention, at(now)).unwrap();
        all.sessions += slice.sessions;
        all.events += slice.events;
        all.freed += slice.freed;
        if !slice.more {
            return all;
        }
    }
}

fn left(store: &dyn Store) -> Vec<String> {
    let query = SessionQuery { archived: true, ..SessionQuery::default() };
    store.sessions(&query).unwrap().rows.into_iter().map(|row| row.key.id.to_string()).collect()
}

fn age(days: u64) -> Retention {
    Retention { max_age: Duration::from_secs(days * 86_400), max_bytes: u64::MAX }
}

pub fn old_sessions_go(fixture: &impl Fixture) {
    let mut store = fixture.open();
    seed(&mut *store, &key("old"), &SessionState::Active, DAY);
    seed(
        &mut *store,
        &key("archived"),
        &SessionState::Archived { at: at(DAY), was: Box::new(SessionState::Active) },
        DAY,
    );
    seed(&mut *store, &key("new"), &SessionState::Ended { at: at(95 * DAY) }, 95 * DAY);
    let pruned = clean(&mut *store, &age(90), 100 * DAY);
    assert_eq!((pruned.sessions, pruned.events), (2, 2));
    assert_eq!(left(&*store), ["new"]);
    assert_eq!(store.events(&EventQuery::default()).unwrap().len(), 1);
    assert_eq!(store.check().unwrap(), [] as [String; 0]);
}

pub fn held_sessions_stay(fixture: &impl Fixture) {
    let mut store = fixture.open();
    seed(&mut *store, &key("paused"), &paused(), DAY);
    let killed = SessionState::Killed { incident: "i".to_owned(), since: at(1) };
    seed(&mut *store, &key("killed"), &killed, DAY + 1);
    seed(&mut *store, &key("hidden"), &SessionState::Archived { at: at(1), was: Box::new(paused()) }, DAY + 2);
    let wanted = seed(&mut *store, &key("wanted"), &SessionState::Active, DAY + 3);
    write(&mut *store, |transaction| {
        let incident = Incident {
            id: "i9".to_owned(),
            session: key("wanted"),
            rung: InterventionLevel::Pause,
            finding: None,
            sentence: String::new(),
            opened_at: at(1),
            acknowledged_at: None,
            closed_at: None,
        };
        transaction.put_incident(wanted, &incident).unwrap();
    });
    seed(&mut *store, &key("new"), &SessionState::Active, 100 * DAY);
    assert_eq!(clean(&mut *store, &age(90), 100 * DAY).sessions, 0);
    let small = Retention { max_bytes: 1, ..age(90) };
    assert_eq!(clean(&mut *store, &small, 100 * DAY).sessions, 0);
    assert_eq!(left(&*store), ["new", "wanted", "hidden", "killed", "paused"]);
}

/// A session of that many events.
fn long(store: &mut dyn Store, id: &str, last_at: i64, events: u64) {
    write(store, |transaction| {
        let head = transaction.create(&key(id), at(last_at)).unwrap();
        for seq in 1..=events {
            append(transaction, &head, seq, &format!("{id}-{seq}-{}", "x".repeat(400)));
        }
        transaction.save(head.id, &change(0, events, &SessionState::Active, &details(last_at))).unwrap();
    });
}

pub fn the_oldest_go_when_there_is_too_much(fixture: &impl Fixture) {
    let mut store = fixture.open();
    for n in 1..=8 {
        long(&mut *store, &format!("s{n}"), n * DAY, 500);
    }
    let before = store.totals(None).unwrap().bytes;
    let half = Retention { max_bytes: before / 2, ..age(90) };
    let pruned = clean(&mut *store, &half, 9 * DAY);
    assert!(store.totals(None).unwrap().bytes <= before / 2);
    assert!(pruned.freed > 0, "the disk gets its room back");
    let left = left(&*store);
    assert!(!left.is_empty() && left.len() < 8);
    assert_eq!(left[0], "s8", "the newest stay");
    assert!(!left.contains(&"s1".to_owned()));
}

pub fn a_slice_is_bounded(fixture: &impl Fixture) {
    let mut store = fixture.open();
    long(&mut *store, "long", DAY, 1800);
    seed(&mut *store, &key("new"), &SessionState::Active, 100 * DAY);
    let mut slices = Vec::new();
    while slices.last().is_none_or(|slice: &Pruned| slice.more) {
        slices.push(store.prune(&age(90), at(100 * DAY)).unwrap());
        // In between, writers have their turn; and nobody sees half a session.
        seed(&mut *fixture.open(), &key(&format!("other-{}", slices.len())), &SessionState::Active, 100 * DAY);
        assert!(store.session(&key("long")).unwrap().is_none_or(|row| row.version == 1800));
    }
    assert!(slices.iter().all(|slice| slice.events <= 600), "{slices:?}");
    assert_eq!(slices.iter().map(|slice| slice.events).sum::<u64>(), 1800);
    assert_eq!(slices.iter().map(|slice| slice.sessions).sum::<u64>(), 1);
}

pub fn nothing_old_nothing_done(fixture: &impl Fixture) {
    let mut store = fixture.open();
    seed(&mut *store, &key("a"), &SessionState::Active, DAY);
    assert_eq!(store.prune(&age(90), at(2 * DAY)).unwrap(), Pruned::default());
}
