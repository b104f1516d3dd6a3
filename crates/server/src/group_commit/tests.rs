use std::collections::BTreeSet;
use std::sync::Barrier;

use belay_core::event::{ModelAnswered, Note, Usage};
use belay_core::{Body, Excerpt, Rules, SessionKey, Source, Timestamp};
use belay_engine::{EngineError, EngineOptions};
use belay_store::{Access, StoreUrl};

use super::*;

fn writer(folder: &tempfile::TempDir) -> GroupCommitter {
    let store = belay_store::open(&StoreUrl::local(folder.path().join("belay.db")), Access::Write).unwrap();
    GroupCommitter::new(Engine::new(store, EngineOptions::default()), Arc::default(), Arc::default())
}

fn event(session: &str, id: String) -> Event {
    let body = Body::Note(Note { text: Excerpt::new("x") });
    Event::new(id, SessionKey::new("codex", session), Source::Api, Timestamp::from_millis(1), body)
}

#[test]
fn everybody_gets_their_own_answers_and_commits_are_shared() {
    const CALLERS: usize = 16;
    const EACH: usize = 50;
    let folder = tempfile::tempdir().unwrap();
    let writer = writer(&folder);
    let start = Barrier::new(CALLERS);
    let numbers: Vec<u64> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let (writer, start) = (&writer, &start);
                scope.spawn(move || {
                    start.wait();
                    (0..EACH)
                        .map(|n| {
                            let answers = writer.observe(vec![event("all", format!("{caller}-{n}"))]);
                            answers.into_iter().next().unwrap().unwrap().seq.unwrap()
                        })
                        .collect::<Vec<u64>>()
                })
            })
            .collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    let distinct: BTreeSet<u64> = numbers.iter().copied().collect();
    assert_eq!(distinct, (1..=(CALLERS * EACH) as u64).collect(), "each event has a number of its own");
    let commits = writer.with_engine(|engine| engine.metrics().commits);
    assert!(commits < (CALLERS * EACH) as u64, "{commits} commits for {} events", CALLERS * EACH);
    assert_eq!(writer.queued(), 0);
}

#[test]
fn answers_come_in_the_order_of_the_events_with_refusals_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let writer = writer(&folder);
    let answers = writer.observe(vec![event("a", "1".into()), event("a", String::new()), event("a", "1".into())]);
    assert_eq!(answers[0].as_ref().unwrap().seq, Some(1));
    assert!(matches!(answers[1], Err(ObserveError::Engine(EngineError::Refused { field: "id", .. }))));
    assert!(answers[2].as_ref().unwrap().decision.duplicate);
    assert!(writer.observe(Vec::new()).is_empty());
}

#[test]
fn more_events_than_the_queue_holds_are_taken_when_nobody_else_waits() {
    let folder = tempfile::tempdir().unwrap();
    let writer = writer(&folder);
    let events = (0..MAX_QUEUED_EVENTS + 10).map(|n| event("a", n.to_string())).collect();
    assert!(writer.observe(events).into_iter().all(|answer| answer.is_ok_and(|answer| answer.committed)));
}

#[test]
fn the_budget_cache_is_current_whenever_the_engine_is_free() {
    const ANSWERS: u64 = 200;
    let folder = tempfile::tempdir().unwrap();
    let store = belay_store::open(&StoreUrl::local(folder.path().join("belay.db")), Access::Write).unwrap();
    let mut rules = Rules::default();
    rules.budget.session_tokens = 1_000_000;
    let options = EngineOptions { rules: Box::new(Arc::new(rules)), ..EngineOptions::default() };
    let budgets = Arc::<BudgetCache>::default();
    let writer = GroupCommitter::new(Engine::new(store, options), Arc::default(), Arc::clone(&budgets));
    let session = SessionKey::new("codex", "s");
    let left = || {
        writer.with_engine(|engine| {
            (engine.remaining_budget(&session).0.tokens, budgets.remaining(&session, None).tokens)
        })
    };
    std::thread::scope(|scope| {
        let spender = scope.spawn(|| {
            for n in 0..ANSWERS {
                let usage = Some(Usage { input: 10, ..Usage::default() });
                let body = Body::ModelAnswered(ModelAnswered { usage, ..ModelAnswered::default() });
                let at = Timestamp::from_millis(1);
                writer.observe(vec![Event::new(n.to_string(), session.clone(), Source::Proxy, at, body)]);
            }
        });
        while !spender.is_finished() {
            let (stored, known) = left();
            assert_eq!(known, stored);
        }
    });
    assert_eq!(left(), (Some(1_000_000 - 10 * ANSWERS), Some(1_000_000 - 10 * ANSWERS)));
}

#[test]
fn followers_are_woken_by_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let writer = writer(&folder);
    let before = writer.commits().wait(u64::MAX, Duration::ZERO);
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| writer.commits().wait(before, Duration::from_secs(60)));
        writer.observe(vec![event("a", "1".into())]);
        assert!(follower.join().unwrap() > before);
    });
}
