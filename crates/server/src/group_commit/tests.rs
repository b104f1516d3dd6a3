use std::collections::BTreeSet;
use std::sync::Barrier;

use belay_core::event::{ModelAnswered, Note, Usage};
use belay_core::key::InvalidId;
use belay_core::{Body, Excerpt, Rules, SessionKey, Source, Timestamp};
use belay_engine::{EngineError, EngineOptions};
use belay_store::{Access, StoreUrl};

use super::*;

fn committer(dir: &tempfile::TempDir) -> GroupCommitter {
    let store = belay_store::open(&StoreUrl::local(dir.path().join("belay.db")), Access::Write).unwrap();
    GroupCommitter::new(Engine::new(store, EngineOptions::default()), Arc::default(), Arc::default())
}

fn event(session: &str, id: String) -> Event {
    let body = Body::Note(Note { text: Excerpt::new("x") });
    Event::new(id, SessionKey::new("codex", session), Source::Api, Timestamp::from_millis(1), body)
}

#[test]
fn callers_get_their_own_results_and_share_commits() {
    const CALLERS: usize = 16;
    const EACH: usize = 50;
    let dir = tempfile::tempdir().unwrap();
    let committer = committer(&dir);
    let start = Barrier::new(CALLERS);
    let numbers: Vec<u64> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let (committer, start) = (&committer, &start);
                scope.spawn(move || {
                    start.wait();
                    (0..EACH)
                        .map(|n| {
                            let answers = committer.observe(vec![event("all", format!("{caller}-{n}"))]);
                            answers.into_iter().next().unwrap().unwrap().seq.unwrap()
                        })
                        .collect::<Vec<u64>>()
                })
            })
            .collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    let distinct: BTreeSet<u64> = numbers.iter().copied().collect();
    assert_eq!(distinct, (1..=(CALLERS * EACH) as u64).collect(), "each event has its own sequence number");
    let commits = committer.with_engine(|engine| engine.metrics().commits);
    assert!(commits < (CALLERS * EACH) as u64, "{commits} commits for {} events", CALLERS * EACH);
    assert_eq!(committer.queued(), 0);
}

#[test]
fn results_are_in_the_order_of_the_events() {
    let dir = tempfile::tempdir().unwrap();
    let committer = committer(&dir);
    let answers = committer.observe(vec![event("a", "1".into()), event("a", String::new()), event("a", "1".into())]);
    assert_eq!(answers[0].as_ref().unwrap().seq, Some(1));
    assert!(matches!(answers[1], Err(ObserveError::Engine(EngineError::Refused(InvalidId { field: "id", .. })))));
    assert!(answers[2].as_ref().unwrap().decision.duplicate);
    assert!(committer.observe(Vec::new()).is_empty());
}

#[test]
fn a_batch_larger_than_the_queue_is_accepted_if_the_queue_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    let committer = committer(&dir);
    let events = (0..MAX_QUEUED_EVENTS + 10).map(|n| event("a", n.to_string())).collect();
    assert!(committer.observe(events).into_iter().all(|answer| answer.is_ok_and(|answer| answer.committed)));
}

#[test]
fn the_budget_cache_is_current_whenever_the_engine_is_free() {
    const ANSWERS: u64 = 200;
    let dir = tempfile::tempdir().unwrap();
    let store = belay_store::open(&StoreUrl::local(dir.path().join("belay.db")), Access::Write).unwrap();
    let mut rules = Rules::default();
    rules.budget.session_tokens = 1_000_000;
    let options = EngineOptions { rules: Box::new(Arc::new(rules)), ..EngineOptions::default() };
    let budgets = Arc::<BudgetCache>::default();
    let committer = GroupCommitter::new(Engine::new(store, options), Arc::default(), Arc::clone(&budgets));
    let session = SessionKey::new("codex", "s");
    let left = || {
        committer.with_engine(|engine| {
            (engine.remaining_budget(&session).0.tokens, budgets.remaining(&session, None).tokens)
        })
    };
    std::thread::scope(|scope| {
        let spender = scope.spawn(|| {
            for n in 0..ANSWERS {
                let usage = Some(Usage { input: 10, ..Usage::default() });
                let body = Body::ModelAnswered(ModelAnswered { usage, ..ModelAnswered::default() });
                let at = Timestamp::from_millis(1);
                committer.observe(vec![Event::new(n.to_string(), session.clone(), Source::Proxy, at, body)]);
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
    let dir = tempfile::tempdir().unwrap();
    let committer = committer(&dir);
    let before = committer.commits().wait(u64::MAX, Duration::ZERO);
    std::thread::scope(|scope| {
        let follower = scope.spawn(|| committer.commits().wait(before, Duration::from_secs(60)));
        committer.observe(vec![event("a", "1".into())]);
        assert!(follower.join().unwrap() > before);
    });
}
