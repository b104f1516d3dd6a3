//! Session rows and their queries.

use belay_core::effect::Spend;
use belay_core::event::Usage;
use belay_core::session::{Budget, Counters, DeclaredWait, NewestCall, ProgressClock, SessionFacts};
use belay_core::status::{Phase, PhaseRecord};
use belay_core::{SessionState, Source};

use super::{Fixture, at, change, details, key, paused, seed, write};
use crate::session::{SessionDetails, SessionUpdate};
use crate::{Cursor, SessionQuery, Store};

fn listed(store: &dyn Store, query: &SessionQuery) -> Vec<String> {
    store.sessions(query).unwrap().rows.into_iter().map(|row| row.key.id.to_string()).collect()
}

pub fn rows_round_trip(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let written = SessionDetails {
        facts: SessionFacts {
            project: Some("/home/user/ä project".to_owned()),
            model: Some("m".to_owned()),
            cwd: Some("/home/user".to_owned()),
            branch: Some("main".to_owned()),
            task: Some("\"quoted\"".to_owned()),
            transcript: Some("/t.jsonl".to_owned()),
            agent_version: Some("1.2".to_owned()),
            pid: Some(7),
            started_at: at(1),
            last_at: at(20),
            ended_at: Some(at(19)),
            unpriced_model: Some("m".to_owned()),
            first_prompt: Some("Fix the cart".to_owned()),
            seen_at: Some(at(21)),
        },
        counters: Counters {
            events: 3,
            calls: 2,
            results: 4,
            errors: 5,
            human_turns: 6,
            answers: 7,
            edits: 8,
            failed_checks: 9,
            passed_checks: 10,
            findings: 11,
            nudges: 12,
            pauses: 13,
            sub_agents: 14,
            compactions: 15,
        },
        spent: Spend {
            calls: 2,
            usage: Usage { input: 1, output: 2, cache_read: 3, cache_write: 4, ..Usage::default() },
            cost_micros: u64::MAX,
            unpriced_micros: 6,
            millis: 9,
        },
        clock: ProgressClock { at: at(3), since: Spend { calls: 1, millis: 2, ..Spend::default() } },
        budget: Budget { tokens: Some(5), cost_micros: None },
        incident: Some("inc-1".to_owned()),
        incident_sentence: Some("The same call 6 times.".to_owned()),
        waiting: Some(DeclaredWait { since: at(9), until: None, what: "a person".to_owned(), all: Vec::new() }),
        phase: PhaseRecord {
            phase: Phase::Limited { until: Some(at(30)), what: "5 hours".to_owned() },
            since: at(8),
            source: Source::Proxy,
            event: "limit_hit".to_owned(),
            stall_minutes: Some(10),
            failure: Some("overloaded".to_owned()),
            denied: true,
            prompts: vec!["toolu_1".to_owned()],
            turn_since: at(7),
        },
        newest_call: Some(NewestCall { what: "cargo test".to_owned(), at: at(18), running: true }),
        strip: serde_json::from_str(r#"{"width_log2":1,"buckets":[[2,1,0]],"counted_in_findings":1}"#).unwrap(),
        burn: vec![(29_000_000, 1200)],
        cost_per_minute: 16,
        context_percent: Some(17),
        limits: Budget { tokens: None, cost_micros: Some(18) },
    };
    write(&mut *store, |transaction| {
        let head = transaction.create(&key("a"), at(20)).unwrap();
        transaction.save(head.id, &change(0, 3, &paused(), &written)).unwrap();
    });
    let row = fixture.open().session(&key("a")).unwrap().unwrap();
    assert_eq!(row.key, key("a"));
    assert_eq!(row.version, 3);
    assert_eq!(row.state, paused());
    assert_eq!(row.details, written);
    assert_eq!(row.parent, None);
    assert_eq!(store.session(&key("unknown")).unwrap(), None);
}

pub fn pages_are_sorted_newest_first(fixture: &impl Fixture) {
    let mut store = fixture.open();
    // Two rows with equal times: the cursor must neither skip nor repeat one.
    for (id, last_at) in [("a", 10), ("b", 30), ("c", 20), ("d", 20), ("e", 5)] {
        seed(&mut *store, &key(id), &SessionState::Active, last_at);
    }
    assert_eq!(listed(&*store, &SessionQuery::default()), ["b", "d", "c", "a", "e"]);
    let mut seen = Vec::new();
    let mut after: Option<Cursor> = None;
    loop {
        let page = store.sessions(&SessionQuery { limit: 2, after, ..SessionQuery::default() }).unwrap();
        seen.extend(page.rows.into_iter().map(|row| row.key.id.to_string()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["b", "d", "c", "a", "e"]);
}

pub fn filters_narrow_the_list(fixture: &impl Fixture) {
    let mut store = fixture.open();
    seed(&mut *store, &key("active"), &SessionState::Active, 10);
    seed(&mut *store, &key("held"), &paused(), 20);
    seed(&mut *store, &key("ended"), &SessionState::Ended { at: at(30) }, 30);
    let other = belay_core::SessionKey::new("gemini", "other");
    let child = seed(&mut *store, &other, &SessionState::Active, 40);
    write(&mut *store, |transaction| {
        let mut with_project = details(40);
        with_project.facts.project = Some("/p".to_owned());
        transaction.save(child, &change(1, 2, &SessionState::Active, &with_project)).unwrap();
        let parent = transaction.session_head(&key("active")).unwrap().unwrap();
        assert!(transaction.set_parent(child, parent.id).unwrap());
    });
    let all = SessionQuery::default;
    assert_eq!(listed(&*store, &SessionQuery { states: vec!["paused".into()], ..all() }), ["held"]);
    assert_eq!(
        listed(&*store, &SessionQuery { states: vec!["paused".into(), "ended".into()], ..all() }),
        ["ended", "held"]
    );
    assert_eq!(listed(&*store, &SessionQuery { agent: Some("gemini".into()), ..all() }), ["other"]);
    assert_eq!(listed(&*store, &SessionQuery { project: Some("/p".into()), ..all() }), ["other"]);
    assert_eq!(listed(&*store, &SessionQuery { parent: Some(key("active")), ..all() }), ["other"]);
    assert_eq!(listed(&*store, &SessionQuery { since: Some(at(20)), ..all() }), ["other", "ended", "held"]);
    let row = store.session(&other).unwrap().unwrap();
    assert_eq!(row.parent, Some(key("active")));
}

pub fn archived_sessions_are_hidden_by_default(fixture: &impl Fixture) {
    let mut store = fixture.open();
    seed(&mut *store, &key("a"), &SessionState::Active, 10);
    let archived = SessionState::Archived { at: at(20), was: Box::new(paused()) };
    seed(&mut *store, &key("b"), &archived, 20);
    assert_eq!(listed(&*store, &SessionQuery::default()), ["a"]);
    assert_eq!(listed(&*store, &SessionQuery { archived: true, ..SessionQuery::default() }), ["b", "a"]);
    let only = SessionQuery { states: vec!["archived".into()], ..SessionQuery::default() };
    assert_eq!(listed(&*store, &only), ["b"]);
    assert_eq!(store.session(&key("b")).unwrap().unwrap().state, archived);
}

pub fn spend_is_added_to_all_ancestors(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let ids: Vec<_> = ["root", "child", "grandchild"]
        .map(|id| seed(&mut *store, &key(id), &SessionState::Active, 10))
        .into_iter()
        .collect();
    let cost = |input| Spend {
        calls: 1,
        usage: Usage { input, output: 2, ..Usage::default() },
        cost_micros: 10,
        ..Spend::default()
    };
    write(&mut *store, |transaction| {
        assert!(transaction.set_parent(ids[1], ids[0]).unwrap());
        assert!(transaction.set_parent(ids[2], ids[1]).unwrap());
        transaction.charge_ancestors(ids[2], &cost(100)).unwrap();
        transaction.charge_ancestors(ids[1], &cost(1000)).unwrap();
        assert_eq!(transaction.descendant_spend(ids[1]).unwrap(), cost(100));
    });
    let descendants = |id: &str| store.session(&key(id)).unwrap().unwrap().descendants;
    assert_eq!(descendants("root").usage, Usage { input: 1100, output: 4, ..Usage::default() });
    assert_eq!(descendants("root").calls, 2);
    assert_eq!(descendants("child"), cost(100));
    assert_eq!(descendants("grandchild"), Spend::default());
}

pub fn parent_cycles_are_rejected(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let ids = ["a", "b", "c"].map(|id| seed(&mut *store, &key(id), &SessionState::Active, 10));
    write(&mut *store, |transaction| {
        assert!(!transaction.set_parent(ids[0], ids[0]).unwrap());
        assert!(transaction.set_parent(ids[1], ids[0]).unwrap());
        assert!(transaction.set_parent(ids[2], ids[1]).unwrap());
        assert!(!transaction.set_parent(ids[0], ids[2]).unwrap());
        // The walk up the tree must terminate.
        transaction.charge_ancestors(ids[2], &Spend { calls: 1, ..Spend::default() }).unwrap();
    });
    assert_eq!(store.session(&key("a")).unwrap().unwrap().descendants.calls, 1);
}

pub fn sort_time_never_decreases(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let id = seed(&mut *store, &key("a"), &SessionState::Active, 50);
    seed(&mut *store, &key("b"), &SessionState::Active, 40);
    write(&mut *store, |transaction| transaction.save(id, &change(1, 2, &SessionState::Active, &details(10))).unwrap());
    assert_eq!(listed(&*store, &SessionQuery::default()), ["a", "b"]);
}

pub fn unset_fields_are_unchanged(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let id = seed(&mut *store, &key("a"), &paused(), 50);
    seed(&mut *store, &key("b"), &SessionState::Active, 60);
    let new_details = details(70);
    let change = SessionUpdate { from: 1, to: 2, state: None, listed: None, details: &new_details };
    write(&mut *store, |transaction| transaction.save(id, &change).unwrap());
    let row = store.session(&key("a")).unwrap().unwrap();
    assert_eq!((row.version, row.state, row.details), (2, paused(), new_details));
    assert_eq!(listed(&*store, &SessionQuery { states: vec!["paused".into()], ..SessionQuery::default() }), ["a"]);
}
