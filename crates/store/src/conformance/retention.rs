//! Retention.

use std::time::Duration;

use belay_core::{Incident, InterventionLevel, SessionState, Subject};

use super::{Fixture, append, at, change, details, key, paused, seed, write};
use crate::{EventQuery, KeptSession, NewMessage, Pruned, Retention, SessionQuery, Store};

const DAY: i64 = 86_400_000;

fn prune_all(store: &mut dyn Store, retention: &Retention, now: i64) -> Pruned {
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

fn remaining(store: &dyn Store) -> Vec<String> {
    let query = SessionQuery { archived: true, ..SessionQuery::default() };
    store.sessions(&query).unwrap().rows.into_iter().map(|row| row.key.id.to_string()).collect()
}

fn age(days: u64) -> Retention {
    Retention { max_age: Duration::from_secs(days * 86_400), max_bytes: u64::MAX }
}

pub fn old_sessions_are_deleted(fixture: &impl Fixture) {
    let mut store = fixture.open();
    seed(&mut *store, &key("old"), &SessionState::Active, DAY);
    seed(
        &mut *store,
        &key("archived"),
        &SessionState::Archived { at: at(DAY), was: Box::new(SessionState::Active) },
        DAY,
    );
    seed(&mut *store, &key("new"), &SessionState::Ended { at: at(95 * DAY) }, 95 * DAY);
    let pruned = prune_all(&mut *store, &age(90), 100 * DAY);
    assert_eq!((pruned.sessions, pruned.events), (2, 2));
    assert_eq!(remaining(&*store), ["new"]);
    assert_eq!(store.events(&EventQuery::default()).unwrap().len(), 1);
    assert_eq!(store.check().unwrap(), [] as [String; 0]);
}

pub fn held_sessions_are_retained(fixture: &impl Fixture) {
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
            level: InterventionLevel::Pause,
            finding: None,
            sentence: String::new(),
            opened_at: at(1),
            acknowledged_at: None,
            closed_at: None,
        };
        transaction.put_incident(wanted, &incident).unwrap();
    });
    seed(&mut *store, &key("new"), &SessionState::Active, 100 * DAY);
    assert_eq!(prune_all(&mut *store, &age(90), 100 * DAY).sessions, 0);
    let small = Retention { max_bytes: 1, ..age(90) };
    assert_eq!(prune_all(&mut *store, &small, 100 * DAY).sessions, 0);
    assert_eq!(remaining(&*store), ["new", "wanted", "hidden", "killed", "paused"]);
}

pub fn the_largest_session_that_stays_is_known(fixture: &impl Fixture) {
    let mut store = fixture.open();
    assert_eq!(store.largest_kept_session().unwrap(), None);
    seed(&mut *store, &key("paused"), &paused(), DAY);
    seed_long(&mut *store, "idle", DAY, 9);
    seed_long(&mut *store, "newest", DAY, 3);
    let kept = store.largest_kept_session().unwrap();
    assert_eq!(kept, Some(KeptSession { session: key("newest"), events: 3 }));
    seed(&mut *store, &key("later"), &SessionState::Active, DAY);
    assert_eq!(store.largest_kept_session().unwrap().unwrap().events, 1);
}

/// Creates a session with `events` large events.
fn seed_long(store: &mut dyn Store, id: &str, last_at: i64, events: u64) {
    write(store, |transaction| {
        let head = transaction.create(&key(id), at(last_at)).unwrap();
        for seq in 1..=events {
            append(transaction, &head, seq, &format!("{id}-{seq}-{}", "x".repeat(400)));
        }
        transaction.save(head.id, &change(0, events, &SessionState::Active, &details(last_at))).unwrap();
    });
}

pub fn the_oldest_are_deleted_above_the_size_limit(fixture: &impl Fixture) {
    let mut store = fixture.open();
    for n in 1..=8 {
        seed_long(&mut *store, &format!("s{n}"), n * DAY, 500);
    }
    let before = store.totals(None).unwrap().bytes;
    // A backend may first shrink its own journal, so the limit is well below half.
    let quarter = Retention { max_bytes: before / 4, ..age(90) };
    let pruned = prune_all(&mut *store, &quarter, 9 * DAY);
    assert!(store.totals(None).unwrap().bytes <= before / 4);
    assert!(pruned.freed > 0, "space is returned to the file system");
    let remaining = remaining(&*store);
    assert!(!remaining.is_empty() && remaining.len() < 8);
    assert_eq!(remaining[0], "s8", "the newest are retained");
    assert!(!remaining.contains(&"s1".to_owned()));
}

pub fn a_slice_is_bounded(fixture: &impl Fixture) {
    let mut store = fixture.open();
    seed_long(&mut *store, "long", DAY, 1800);
    seed(&mut *store, &key("new"), &SessionState::Active, 100 * DAY);
    let mut slices = Vec::new();
    while slices.last().is_none_or(|slice: &Pruned| slice.more) {
        slices.push(store.prune(&age(90), at(100 * DAY)).unwrap());
        // Writers proceed between slices, and readers never see part of a session.
        seed(&mut *fixture.open(), &key(&format!("other-{}", slices.len())), &SessionState::Active, 100 * DAY);
        assert!(store.session(&key("long")).unwrap().is_none_or(|row| row.version == 1800));
    }
    assert!(slices.iter().all(|slice| slice.events <= 600), "{slices:?}");
    assert_eq!(slices.iter().map(|slice| slice.events).sum::<u64>(), 1800);
    assert_eq!(slices.iter().map(|slice| slice.sessions).sum::<u64>(), 1);
}

pub fn a_slice_deletes_several_sessions(fixture: &impl Fixture) {
    let mut store = fixture.open();
    for n in 0..100 {
        seed(&mut *store, &key(&format!("s{n}")), &SessionState::Active, DAY);
    }
    seed(&mut *store, &key("new"), &SessionState::Active, 100 * DAY);
    let slice = store.prune(&age(90), at(100 * DAY)).unwrap();
    assert!(slice.sessions >= 50 && slice.events >= 50, "{slice:?}");
    prune_all(&mut *store, &age(90), 100 * DAY);
    assert_eq!(remaining(&*store), ["new"]);
}

pub fn the_size_includes_pending_writes(fixture: &impl Fixture) {
    let mut store = fixture.open();
    seed_long(&mut *store, "s", DAY, 2000);
    let before = store.totals(None).unwrap().bytes;
    assert!(store.checkpoint().unwrap());
    let after = store.totals(None).unwrap().bytes;
    assert!(after <= before, "{before} {after}");
    assert_eq!(store.events(&EventQuery { limit: 9999, ..EventQuery::default() }).unwrap().len(), 2000);
}

pub fn recent_sessions_are_retained(fixture: &impl Fixture) {
    let mut store = fixture.open();
    seed(&mut *store, &key("a"), &SessionState::Active, DAY);
    let pruned = store.prune(&age(90), at(2 * DAY)).unwrap();
    assert_eq!(pruned, Pruned { used: pruned.used, ..Pruned::default() });
}

pub fn sessions_are_deleted_by_name(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let gone = seed(&mut *store, &key("gone"), &paused(), DAY);
    seed(&mut *store, &key("stays"), &SessionState::Active, DAY);
    let message = |of: &str, key: &str, payload: serde_json::Value| NewMessage {
        key: format!("{key}:{of}"),
        topic: "incident_opened".to_owned(),
        payload,
        at: at(1),
    };
    write(&mut *store, |transaction| {
        let incident = Incident {
            id: "i1".to_owned(),
            session: key("gone"),
            opened_at: at(1),
            level: InterventionLevel::Pause,
            finding: None,
            sentence: "paused".to_owned(),
            acknowledged_at: None,
            closed_at: None,
        };
        transaction.put_incident(gone, &incident).unwrap();
        for of in ["gone", "stays"] {
            let subject = serde_json::json!({ "v": 2, "subject": Subject::from(key(of)) });
            assert!(transaction.enqueue(&message(of, "opened", subject)).unwrap());
            // As versions before the subject wrote it.
            assert!(transaction.enqueue(&message(of, "old", serde_json::json!({ "session": key(of) }))).unwrap());
        }
    });
    assert_eq!(store.delete_sessions(&[key("gone"), key("never was")]).unwrap(), 1);
    assert_eq!(remaining(&*store), ["stays"]);
    assert_eq!(store.incident("i1").unwrap(), None);
    assert_eq!(store.held_sessions(9).unwrap(), []);
    let left: Vec<String> = store.messages(9).unwrap().into_iter().map(|message| message.key).collect();
    assert_eq!(left, ["old:stays", "opened:stays"]);
    assert_eq!(prune_all(&mut *store, &age(90), DAY).events, 1);
    assert_eq!(store.check().unwrap(), [] as [String; 0]);
}

pub fn event_ids_are_never_reused(fixture: &impl Fixture) {
    let mut store = fixture.open();
    seed(&mut *store, &key("a"), &SessionState::Active, DAY);
    let newest = |store: &dyn Store| store.events(&EventQuery::default()).unwrap().last().map(|row| row.ord);
    let before = newest(&*store);
    assert_eq!(store.delete_sessions(&[key("a")]).unwrap(), 1);
    prune_all(&mut *store, &age(90), DAY);
    assert_eq!(newest(&*store), None, "its events are not readable any more");
    seed(&mut *store, &key("b"), &SessionState::Active, DAY);
    assert!(newest(&*store) > before);
    prune_all(&mut *store, &age(90), DAY);
    let pruned = store.prune(&age(90), at(DAY)).unwrap();
    assert_eq!(pruned, Pruned { used: pruned.used, ..Pruned::default() }, "nothing is left to delete");
}
