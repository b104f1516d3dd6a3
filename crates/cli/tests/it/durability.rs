//! No acknowledged event is lost: the resident process is killed repeatedly under load.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex};

use belay_core::event::{Note, OperatorDecision};
use belay_core::{Body, Event, Excerpt, SessionKey, Source, Timestamp};
use belay_ipc::{Client, DecideRequest, EventResult};
use belay_store::{Access, EventQuery, StoreUrl};

use crate::resident::Serve;
use crate::world::{TEST_TIMEOUT, World};

const KILLS: usize = 50;
const WRITERS: usize = 8;
/// Number of events after which a writer pauses its session and continues with a new one.
const PAUSE_EVERY: u64 = 20;

/// The acknowledgements that one writer received.
#[derive(Default)]
struct Promised {
    /// Event ids by session.
    events: HashMap<SessionKey, Vec<String>>,
    paused: Vec<SessionKey>,
}

/// State shared by the writers and the thread that kills.
#[derive(Default)]
struct Trial {
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default)]
struct Now {
    /// Number of resident processes started so far.
    lives: usize,
    acknowledged: u64,
    done: bool,
}

impl Trial {
    fn change(&self, change: impl FnOnce(&mut Now)) {
        change(&mut self.now.lock().unwrap());
        self.changed.notify_all();
    }

    fn wait(&self, what: &str, is_so: impl Fn(&Now) -> bool) -> Now {
        let now = self.now.lock().unwrap();
        let (now, waited) = self.changed.wait_timeout_while(now, TEST_TIMEOUT, |now| !is_so(now)).unwrap();
        assert!(!waited.timed_out(), "{what} did not happen in {TEST_TIMEOUT:?}");
        *now
    }
}

fn write(world: &World, writer: usize, trial: &Trial) -> Promised {
    let mut promised = Promised::default();
    let (mut number, mut generation) = (0_u64, 0);
    let shared = SessionKey::new("codex", "shared");
    let mut lives = 0;
    loop {
        // Each resident process is used until it stops responding, which means it was killed.
        let now = trial.wait("another resident process", |now| now.done || now.lives > lives);
        if now.done {
            return promised;
        }
        lives = now.lives;
        let Ok(mut client) = Client::connect(&world.paths(), TEST_TIMEOUT) else { continue };
        loop {
            number += 1;
            let own = SessionKey::new("claude-code", format!("writer-{writer}-{generation}"));
            let session = if number.is_multiple_of(5) { &shared } else { &own };
            let id = format!("w{writer}-{number}");
            let body = Body::Note(Note { text: Excerpt::new("working") });
            let event = Event::new(id.clone(), session.clone(), Source::Api, Timestamp::UNKNOWN, body);
            // Killed before the acknowledgement: the event may or may not be stored.
            let Ok(answers) = client.observe(&[event]) else { break };
            match &answers.answers[0] {
                EventResult::Accepted(outcome) if outcome.committed => {
                    promised.events.entry(session.clone()).or_default().push(id);
                    trial.change(|now| now.acknowledged += 1);
                }
                other => panic!("{other:?}"),
            }
            if number.is_multiple_of(PAUSE_EVERY) && promised.events.contains_key(&own) {
                let pause = DecideRequest::new(own.clone(), OperatorDecision::Pause).note("enough");
                let Ok(taken) = client.decide(&pause) else { break };
                assert!(taken.committed);
                promised.paused.push(own);
                generation += 1;
            }
        }
    }
}

#[test]
fn kill_nine_loses_nothing_that_was_acknowledged() {
    let world = World::new();
    let trial = Trial::default();
    let promised: Vec<Promised> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (world, trial) = (&world, &trial);
                scope.spawn(move || write(world, writer, trial))
            })
            .collect();
        for round in 0..KILLS {
            let serve = Serve::start_with(&world, &["--no-http"]);
            // Killed after a varying number of acknowledgements.
            let before = trial.wait("nothing", |_| true).acknowledged;
            let enough = before + 20 + (round as u64 * 7) % 31;
            trial.change(|now| now.lives += 1);
            trial.wait("so many acknowledgements", |now| now.acknowledged >= enough);
            serve.kill();
        }
        trial.change(|now| now.done = true);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });

    // Serving once more is what a user would do next; then everything must be there.
    let serve = Serve::start_with(&world, &["--no-http"]);
    assert_eq!(serve.ready["kept"], true);
    let store = belay_store::open(&StoreUrl::local(world.paths().database()), Access::Read).unwrap();
    assert_eq!(store.check().unwrap(), Vec::<String>::new());
    let mut stored: HashMap<SessionKey, HashMap<String, u32>> = HashMap::new();
    let mut after = 0;
    loop {
        let rows = store.events(&EventQuery { after: Some(after), limit: 1000, ..EventQuery::default() }).unwrap();
        let Some(last) = rows.last() else { break };
        after = u64::try_from(last.ord).unwrap();
        for row in &rows {
            *stored.entry(row.session.clone()).or_default().entry(row.event().unwrap().id).or_default() += 1;
        }
    }
    let mut events = 0;
    for (session, id) in promised.iter().flat_map(|p| &p.events).flat_map(|(s, ids)| ids.iter().map(move |id| (s, id)))
    {
        events += 1;
        let times = stored.get(session).and_then(|ids| ids.get(id)).copied().unwrap_or(0);
        assert_eq!(times, 1, "{id} of {session} was acknowledged and is there {times} times");
    }
    let mut paused = 0;
    for session in promised.iter().flat_map(|p| &p.paused) {
        paused += 1;
        let row = store.session(session).unwrap().unwrap();
        assert!(row.state.is_paused(), "{session} was paused and is {}", row.state.as_str());
    }
    assert!(events >= KILLS * 20 && paused >= KILLS / 5, "{events} events and {paused} pauses are a fair trial");
    // Versions are gapless: no event was half written.
    for (session, ids) in &stored {
        let row = store.session(session).unwrap().unwrap();
        let count: u64 = ids.values().map(|times| u64::from(*times)).sum();
        assert_eq!(row.version, count, "{session}");
    }
}
