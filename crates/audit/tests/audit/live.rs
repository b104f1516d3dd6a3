//! The audit counts what a live session counts: every fixture is audited, and its events are observed by an engine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use belay_agents::detect_format;
use belay_audit::discover::SearchFilter;
use belay_audit::replay::{ReplayOptions, replay};
use belay_audit::{Progress, RuleSet, SearchScope, find};
use belay_core::effect::Spend;
use belay_core::{Event, Rules, SessionKey};
use belay_engine::{Engine, EngineOptions};
use belay_store::{OpenOptions, SqliteStore};
use jiff::tz::TimeZone;

use crate::history::History;

type Totals = BTreeMap<SessionKey, Spend>;

/// Totals of the sessions in a file by the audit, after a check that its days and models add up to them.
fn audited(path: &Path) -> Totals {
    let found = find(&SearchScope::Paths(vec![path.to_owned()]), SearchFilter::default());
    let variants = [RuleSet::fixed("default", Rules::default())];
    let options = ReplayOptions { variants: &variants, zone: TimeZone::UTC, keep_notices: false };
    let (sessions, _) = replay(&found.sources, &options, &Progress::default());
    let total = |report: belay_audit::SessionReport| {
        let (mut usage, mut cost) = (belay_core::event::Usage::default(), 0);
        for model in &report.models {
            usage.add(&model.usage);
            cost += model.cost_micros;
        }
        assert_eq!((usage, cost), (report.spent.usage, report.spent.cost_micros), "by model: {}", report.key);
        if report.started_at.is_known() {
            let days = report.days.values().fold((0, 0), |sum, day| (sum.0 + day.tokens, sum.1 + day.cost_micros));
            assert_eq!(days, (report.spent.usage.total(), report.spent.cost_micros), "by day: {}", report.key);
        }
        (report.key, Spend { millis: 0, ..report.spent })
    };
    sessions.into_iter().map(total).collect()
}

/// Totals of the same sessions in a store to which an engine wrote the file's events one by one.
fn live(path: &Path, dir: &Path) -> Totals {
    let format = detect_format(path).expect("readable").expect("a known format");
    let mut events: Vec<Event> = Vec::new();
    format.read(path, &mut |event| events.push(event)).expect("readable");
    let store = SqliteStore::open(dir.join("belay.db"), OpenOptions::default()).expect("a store");
    let mut engine = Engine::new(Box::new(store), EngineOptions::default());
    let mut totals = Totals::new();
    for event in events {
        let key = event.session.clone();
        engine.observe(event).expect("taken");
        let session = engine.session(&key).expect("readable").expect("it was just written");
        let counters = session.counters;
        // The audit leaves out sessions without a turn, such as those that only made up a title.
        if counters.calls + counters.answers + counters.human_turns > 0 {
            totals.insert(key, Spend { millis: 0, ..session.spent });
        }
    }
    totals
}

fn assert_same(path: &Path) -> Totals {
    let dir = tempfile::tempdir().expect("a directory");
    let audited = audited(path);
    assert_eq!(audited, live(path, dir.path()), "{}", path.display());
    audited
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
fn fixtures_of_all_agents_cost_the_same_live() {
    let dir = tempfile::tempdir().expect("a directory");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/tests/fixtures");
    let (mut agents, mut tokens) = (std::collections::BTreeSet::new(), 0);
    for mut path in files(&fixtures) {
        if path.extension().is_some_and(|extension| extension == "sql") {
            let database = dir.path().join("opencode.db");
            let script = std::fs::read_to_string(&path).expect("readable");
            rusqlite::Connection::open(&database).and_then(|it| it.execute_batch(&script)).expect("valid SQL");
            path = database;
        }
        for (key, spent) in assert_same(&path) {
            agents.insert(key.agent);
            tokens += spent.usage.total();
        }
    }
    assert!(agents.len() >= 7 && tokens > 0, "{agents:?}, {tokens} tokens");
}

#[test]
fn made_up_histories_cost_the_same_live() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut parent = History::new(1, "shop");
    parent.prompt("Install it").works(3).stuck(9).prompt("use yarn").works(20).says("Done.");
    let mut child = parent.sub_agent("a1b2c3");
    child.prompt("Install it").works(1).stuck(5).says("I give up.");
    for path in [parent.write(dir.path()), child.write(dir.path())] {
        assert!(assert_same(&path).values().all(|spent| spent.cost_micros > 0), "{}", path.display());
    }
}
