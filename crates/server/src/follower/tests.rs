use std::sync::{Arc, Mutex};

use belay_core::event::{Note, Prompt};
use belay_core::{Body, Excerpt, SessionKey, Source, Timestamp};
use belay_engine::{Engine, EngineOptions};
use belay_store::{Access, StoreUrl};

use super::*;
use crate::group_commit::GroupCommitter;
use crate::sync::lock;

struct Log {
    committer: GroupCommitter,
    readers: ReadPool,
    _dir: tempfile::TempDir,
}

impl Log {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("belay.db");
        let store = belay_store::open(&StoreUrl::local(path.clone()), Access::Write).unwrap();
        let engine = Engine::new(store, EngineOptions::default());
        Self {
            committer: GroupCommitter::new(engine, Arc::default(), Arc::default()),
            readers: ReadPool::new(path),
            _dir: dir,
        }
    }

    /// Commits events: prompts for ids that begin with `p`, notes for others.
    fn commit(&self, ids: &[&str]) {
        let event = |id: &&str| {
            let body = match id.starts_with('p') {
                true => Body::Prompt(Prompt::default()),
                false => Body::Note(Note { text: Excerpt::new("x") }),
            };
            Event::new(*id, SessionKey::new("codex", "s1"), Source::Api, Timestamp::from_millis(1), body)
        };
        for answer in self.committer.observe(ids.iter().map(event).collect()) {
            answer.unwrap();
        }
    }
}

/// Remembers the ids of what it got.
#[derive(Clone)]
struct Recorder {
    kinds: Arc<Mutex<EventKinds>>,
    ids: Arc<Mutex<Vec<String>>>,
    panics: bool,
}

impl Recorder {
    fn new(kinds: EventKinds) -> Self {
        Self { kinds: Arc::new(Mutex::new(kinds)), ids: Arc::default(), panics: false }
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.ids))
    }
}

impl LogSubscriber for Recorder {
    fn kinds(&self) -> EventKinds {
        *lock(&self.kinds)
    }

    fn on_events(&self, events: &[&LogEntry]) {
        assert!(!self.panics, "a bug");
        lock(&self.ids).extend(events.iter().map(|entry| entry.event().unwrap().id.to_string()));
    }
}

fn follower(log: &Log, subscribers: &[&Recorder]) -> LogFollower {
    LogFollower::new(
        &log.readers,
        subscribers.iter().map(|one| Box::new((*one).clone()) as Box<dyn LogSubscriber>).collect(),
    )
}

#[test]
fn each_subscriber_gets_the_kinds_it_wants_once_and_in_order() {
    let log = Log::new();
    log.commit(&["n0"]);
    let (prompts, all) = (Recorder::new(EventKinds::Only(&["prompt"])), Recorder::new(EventKinds::All));
    let mut follower = follower(&log, &[&prompts, &all]);
    log.commit(&["p1", "n2", "p3"]);
    assert_eq!(follower.read(&log.readers).unwrap(), 3);
    assert_eq!(prompts.take(), ["p1", "p3"]);
    assert_eq!(all.take(), ["p1", "n2", "p3"], "without what was there before");
    assert_eq!(follower.read(&log.readers).unwrap(), 0);
    log.commit(&["n4"]);
    assert_eq!(follower.read(&log.readers).unwrap(), 1);
    assert_eq!((prompts.take().len(), all.take().len()), (0, 1));
}

#[test]
fn a_subscriber_gets_what_is_committed_after_it_wants_it() {
    let log = Log::new();
    let late = Recorder::new(EventKinds::None);
    let mut follower = follower(&log, &[&late]);
    log.commit(&["n1"]);
    assert_eq!(follower.read(&log.readers).unwrap(), 0, "nothing is read for nobody");
    *lock(&late.kinds) = EventKinds::All;
    log.commit(&["n2"]);
    follower.read(&log.readers).unwrap();
    assert_eq!(late.take(), ["n2"]);
}

#[test]
fn a_burst_is_read_in_pages_until_it_is_over() {
    let log = Log::new();
    let all = Recorder::new(EventKinds::All);
    let mut follower = follower(&log, &[&all]);
    let ids: Vec<String> = (0..PAGE + 7).map(|n| format!("n{n}")).collect();
    log.commit(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(follower.read(&log.readers).unwrap(), PAGE);
    assert_eq!(follower.read(&log.readers).unwrap(), 7);
    assert_eq!(all.take(), ids);
}

#[test]
fn a_subscriber_that_panics_does_not_stop_the_others() {
    let log = Log::new();
    let (broken, all) = (Recorder { panics: true, ..Recorder::new(EventKinds::All) }, Recorder::new(EventKinds::All));
    let mut follower = follower(&log, &[&broken, &all]);
    for id in ["n1", "n2"] {
        log.commit(&[id]);
        follower.read(&log.readers).unwrap();
        assert_eq!(all.take(), [id]);
    }
}
