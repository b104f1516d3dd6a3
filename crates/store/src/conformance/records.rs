//! Incidents, findings, notes, tombstones, settings and totals.

use belay_core::effect::{Finding, Spend};
use belay_core::event::{OperatorDecision, TokenCost};
use belay_core::{Digest, Incident, Intervention, InterventionLevel, SessionKey, SessionState};

use super::{Fixture, at, change, details, key, paused, seed, write};
use crate::{IncidentQuery, NewMessage, NoteRow, Tombstone};

fn incident(id: &str, session: &str, opened_at: i64) -> Incident {
    Incident {
        id: id.to_owned(),
        session: key(session),
        level: InterventionLevel::Pause,
        finding: None,
        sentence: "It went in circles.".to_owned(),
        opened_at: at(opened_at),
        acknowledged_at: None,
        closed_at: None,
    }
}

pub fn ledger_entries_add_up_by_name_and_day(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let paid = |tokens| TokenCost { tokens, cost_micros: tokens * 10 };
    write(&mut *store, |transaction| {
        assert_eq!(transaction.add_ledger_spend(1, "project:/a", &paid(5)).unwrap(), paid(5));
        assert_eq!(transaction.add_ledger_spend(1, "project:/a", &paid(7)).unwrap(), paid(12));
        assert_eq!(transaction.add_ledger_spend(2, "project:/a", &paid(0)).unwrap(), paid(0));
        assert_eq!(transaction.add_ledger_spend(1, "project:/b", &paid(1)).unwrap(), paid(1));
    });
    write(&mut *fixture.open(), |transaction| {
        assert_eq!(transaction.add_ledger_spend(1, "project:/a", &paid(0)).unwrap(), paid(12));
    });
}

pub fn sums_saturate(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let most = i64::MAX.unsigned_abs();
    let huge = TokenCost { tokens: u64::MAX, cost_micros: most };
    let full = TokenCost { tokens: most, cost_micros: most };
    write(&mut *store, |transaction| {
        for _ in 0..3 {
            assert_eq!(transaction.add_ledger_spend(1, "project:/a", &huge).unwrap(), full);
        }
    });
    for name in ["a", "b", "c"] {
        let id = seed(&mut *store, &key(name), &SessionState::Active, 10);
        let mut spent = details(10);
        spent.spent.usage.input = u64::MAX;
        spent.spent.cost_micros = u64::MAX;
        write(&mut *store, |transaction| {
            transaction.save(id, &change(1, 2, &SessionState::Active, &spent)).unwrap();
        });
    }
    let totals = store.totals(None).unwrap();
    assert!(totals.tokens > most && totals.cost_micros > most, "{totals:?}");
}

pub fn incidents_open_and_close(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let (a, b) = (seed(&mut *store, &key("a"), &paused(), 1), seed(&mut *store, &key("b"), &paused(), 1));
    write(&mut *store, |transaction| {
        transaction.put_incident(a, &incident("i1", "a", 10)).unwrap();
        transaction.put_incident(b, &incident("i2", "b", 20)).unwrap();
        let closed = Incident { closed_at: Some(at(30)), ..incident("i1", "a", 10) };
        transaction.put_incident(a, &closed).unwrap();
        assert_eq!(transaction.incident("i1").unwrap(), Some(closed));
    });
    let ids = |query: IncidentQuery| -> Vec<String> {
        store.incidents(&query).unwrap().into_iter().map(|incident| incident.id).collect()
    };
    assert_eq!(ids(IncidentQuery::default()), ["i2"]);
    assert_eq!(ids(IncidentQuery { closed: true, ..Default::default() }), ["i2", "i1"]);
    assert_eq!(ids(IncidentQuery { session: Some(key("a")), closed: true, ..Default::default() }), ["i1"]);
    assert_eq!(store.incident("i2").unwrap(), Some(incident("i2", "b", 20)));
    assert_eq!(store.incident("i3").unwrap(), None);
}

fn intervention(id: &str, count: u32) -> Intervention {
    Intervention {
        level: InterventionLevel::Nudge,
        finding: Finding {
            id: id.to_owned(),
            pattern: "exact_repeat".to_owned(),
            count,
            denied: 0,
            sentence: "The same command failed the same way.".to_owned(),
            unchanged: "exit 1".to_owned(),
            progress_would_be: "another error".to_owned(),
            evidence: Vec::new(),
            from_call: 1,
            call: 3,
            action: Digest(1),
            outcome: Digest(2),
            spent: Spend::default(),
            at: at(i64::from(count)),
        },
        message: "Try something else.".to_owned(),
        alert: false,
        dry_run: false,
    }
}

pub fn findings_are_looked_up_by_id(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let a = seed(&mut *store, &key("a"), &SessionState::Active, 1);
    write(&mut *store, |transaction| {
        transaction.put_finding(a, &intervention("f1", 3)).unwrap();
        transaction.put_finding(a, &intervention("f2", 4)).unwrap();
        // The same finding, with more evidence.
        transaction.put_finding(a, &intervention("f1", 5)).unwrap();
    });
    let found = store.finding("f1").unwrap().unwrap();
    assert_eq!((found.session, found.intervention), (key("a"), intervention("f1", 5)));
    assert_eq!(store.finding("f").unwrap(), None);
    let ids: Vec<String> =
        store.findings(&key("a"), 10).unwrap().into_iter().map(|row| row.intervention.finding.id).collect();
    assert_eq!(ids, ["f1", "f2"]);
}

pub fn notes_are_stored_with_their_decision(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let a = seed(&mut *store, &key("a"), &SessionState::Active, 1);
    let note = |text: &str, decision| NoteRow {
        session: key("a"),
        at: at(9),
        decision,
        by: Some("me".to_owned()),
        text: text.to_owned(),
    };
    let first = note("one", OperatorDecision::Pause);
    let second = note("two", OperatorDecision::Kill);
    write(&mut *store, |transaction| {
        transaction.put_note(a, &first).unwrap();
        transaction.put_note(a, &second).unwrap();
    });
    assert_eq!(store.notes(&key("a"), 10).unwrap(), [second, first]);
    assert_eq!(store.notes(&key("b"), 10).unwrap(), []);
}

pub fn tombstones_expire(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let tombstone = |pattern: &str, expires_at| Tombstone {
        session: key("a"),
        project: "/p".to_owned(),
        task: None,
        pattern: pattern.to_owned(),
        message: "The last session died of it.".to_owned(),
        at: at(1),
        expires_at: at(expires_at),
    };
    write(&mut *store, |transaction| {
        transaction.put_tombstone(&tombstone("old", 50)).unwrap();
        transaction.put_tombstone(&tombstone("new", 150)).unwrap();
        transaction.put_tombstone(&tombstone("new", 160)).unwrap();
    });
    assert_eq!(store.tombstones(Some("/p"), at(100)).unwrap(), [tombstone("new", 160)], "once per session and pattern");
    assert_eq!(store.tombstones(Some("/p"), at(160)).unwrap(), []);
    assert_eq!(store.tombstones(Some("/q"), at(1)).unwrap(), []);
    assert_eq!(store.tombstones(None, at(100)).unwrap(), [tombstone("new", 160)]);
}

pub fn settings_are_set_and_removed(fixture: &impl Fixture) {
    let mut store = fixture.open();
    write(&mut *store, |transaction| {
        transaction.put_setting("a", Some("1")).unwrap();
        transaction.put_setting("a", Some("2")).unwrap();
        transaction.put_setting("b", Some("")).unwrap();
        transaction.put_setting("c", Some("x")).unwrap();
        transaction.put_setting("c", None).unwrap();
    });
    assert_eq!(store.setting("a").unwrap().as_deref(), Some("2"));
    let all: Vec<_> = store.settings().unwrap().into_iter().collect();
    assert_eq!(all, [("a".to_owned(), "2".to_owned()), ("b".to_owned(), String::new())]);
}

pub fn the_trial_counts_in_no_total(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let trial = seed(&mut *store, &SessionKey::trial("a"), &paused(), 10);
    write(&mut *store, |transaction| {
        let mut spent = details(10);
        spent.counters.calls = 3;
        spent.spent.unpriced_micros = 5;
        transaction.save(trial, &change(1, 2, &paused(), &spent)).unwrap();
        transaction.put_incident(trial, &incident("i1", "a", 10)).unwrap();
    });
    let totals = store.totals(None).unwrap();
    assert_eq!(crate::StoreTotals { bytes: 0, ..totals }, crate::StoreTotals::default());
}

pub fn totals_add_up(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let a = seed(&mut *store, &key("a"), &SessionState::Active, 10);
    seed(&mut *store, &key("b"), &paused(), 20);
    write(&mut *store, |transaction| {
        let mut spent = details(10);
        spent.counters.calls = 3;
        spent.spent.usage.input = 1000;
        spent.spent.cost_micros = 5;
        spent.spent.unpriced_micros = 1 << 40;
        spent.clock.since.unpriced_micros = 9;
        transaction.save(a, &change(1, 2, &SessionState::Active, &spent)).unwrap();
        transaction.put_incident(a, &incident("i1", "a", 10)).unwrap();
        let message =
            NewMessage { key: "k".to_owned(), topic: "t".to_owned(), payload: serde_json::Value::Null, at: at(1) };
        assert!(transaction.enqueue(&message).unwrap());
    });
    let totals = store.totals(None).unwrap();
    assert_eq!(totals.sessions.into_iter().collect::<Vec<_>>(), [("active".to_owned(), 1), ("paused".to_owned(), 1)]);
    assert_eq!((totals.events, totals.calls, totals.tokens, totals.cost_micros), (3, 3, 1000, 5));
    assert_eq!(totals.unpriced_micros, 1 << 40);
    assert_eq!((totals.open_incidents, totals.outbox), (1, 1));
    assert!(totals.bytes > 0);
    assert_eq!(store.totals(Some(at(15))).unwrap().sessions.len(), 1);
    let none = store.totals(Some(at(99))).unwrap();
    assert_eq!((none.events, none.unpriced_micros), (0, 0));
}
