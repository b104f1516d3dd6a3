//! `kill -9` at any point: what was acknowledged is there.
//!
//! Eight processes write to one store, each through an engine of its own, and say what was acknowledged to them.
//! They are killed at random points and started again; at the end their words are compared with the log.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use belay_core::event::OperatorDecision;
use belay_core::{SessionKey, Source, Timestamp};
use belay_engine::{Engine, EngineOptions};
use belay_store::{Access, EventQuery, Store, StoreUrl};

use crate::common::{Folder, key, prompt};

const WRITERS: usize = 8;
const KILLS: usize = 56;
const STORE: &str = "BELAY_TEST_KILL_STORE";
const NAME: &str = "BELAY_TEST_KILL_NAME";

/// Not a test by itself: what a writer does until it is killed.
#[test]
fn child() {
    let (Ok(store), Ok(name)) = (std::env::var(STORE), std::env::var(NAME)) else { return };
    let store = belay_store::open(&StoreUrl::local(store), Access::Write).unwrap();
    let mut engine = Engine::new(store, EngineOptions::default());
    // One write each: a line is never cut in two, whenever the end comes.
    let say = |line: String| std::io::stdout().write_all(format!("\n: {line}\n").as_bytes()).unwrap();
    for n in 0u64.. {
        let own = format!("{name}-{}", n / 12);
        let mut events = vec![prompt("shared", &format!("{name}-{n}")), prompt(&own, &format!("p{n}"))];
        events.iter_mut().for_each(|event| (event.at, event.source) = (Timestamp::UNKNOWN, Source::Api));
        let told: Vec<String> = events.iter().map(|event| format!("event {} {}", event.session.id, event.id)).collect();
        for (answer, told) in engine.observe_batch(events).into_iter().zip(told) {
            if answer.unwrap().committed {
                say(told);
            }
        }
        if n % 12 == 7 && engine.decide(&key(&own), OperatorDecision::Pause, "", None).unwrap().committed {
            say(format!("paused {own}"));
        }
    }
}

struct Writer {
    child: Child,
    generation: usize,
}

impl Writer {
    fn start(folder: &Folder, place: usize, generation: usize, said: &Sender<String>) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::child", "--nocapture", "--test-threads=1"])
            .env(STORE, folder.file())
            .env(NAME, format!("w{place}g{generation}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = said.clone();
        std::thread::spawn(move || {
            let told = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix(": ").map(str::to_owned));
            told.for_each(|line| drop(said.send(line)));
        });
        Self { child, generation }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What was acknowledged to anybody.
#[derive(Default)]
struct Acknowledged {
    events: BTreeMap<String, BTreeSet<String>>,
    paused: BTreeSet<String>,
}

impl Acknowledged {
    fn note(&mut self, line: &str) {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["event", session, id] => {
                assert!(self.events.entry(session.to_owned()).or_default().insert(id.to_owned()), "{line} twice");
            }
            ["paused", session] => drop(self.paused.insert(session.to_owned())),
            _ => panic!("what is {line:?}?"),
        }
    }
}

fn run(folder: &Folder) -> Acknowledged {
    let (said, hear): (Sender<String>, Receiver<String>) = channel();
    let mut writers: Vec<Writer> = (0..WRITERS).map(|place| Writer::start(folder, place, 0, &said)).collect();
    let mut acknowledged = Acknowledged::default();
    let mut random: u64 = 0x2545_f491_4f6c_dd1d;
    for _ in 0..KILLS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // After some more acknowledgements: the writers are then wherever they are.
        for _ in 0..random % 40 + 1 {
            acknowledged.note(&hear.recv().unwrap());
        }
        let place = usize::try_from(random >> 32).unwrap() % WRITERS;
        let writer = &mut writers[place];
        writer.kill();
        *writer = Writer::start(folder, place, writer.generation + 1, &said);
    }
    // The last eight die at once. What they still said is in their pipes.
    drop(writers);
    drop(said);
    hear.iter().for_each(|line| acknowledged.note(&line));
    acknowledged
}

#[test]
fn what_was_acknowledged_outlives_kill_minus_nine() {
    let folder = Folder::new();
    drop(folder.store());
    let acknowledged = run(&folder);
    assert!(acknowledged.events.values().map(BTreeSet::len).sum::<usize>() > KILLS);
    assert!(!acknowledged.paused.is_empty());

    let store = folder.store();
    assert_eq!(store.check().unwrap(), [] as [String; 0]);
    for (session, ids) in &acknowledged.events {
        let (log, numbers) = log(&*store, &key(session));
        let lost: Vec<_> = ids.difference(&log).collect();
        assert!(lost.is_empty(), "{session} lost {lost:?}");
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "{session}");
        let row = store.session(&key(session)).unwrap().unwrap();
        assert_eq!(row.version, numbers.len() as u64);
        let whole = folder.engine().session(&key(session)).unwrap().unwrap();
        assert_eq!((whole.counters.events, &whole.state), (row.version, &row.state), "{session}");
    }
    for session in &acknowledged.paused {
        assert!(store.session(&key(session)).unwrap().unwrap().state.is_paused(), "{session}");
    }
}

fn log(store: &dyn Store, session: &SessionKey) -> (BTreeSet<String>, Vec<u64>) {
    let query = EventQuery { session: Some(session.clone()), limit: usize::MAX, ..EventQuery::default() };
    let rows = store.events(&query).unwrap();
    (rows.iter().map(|row| row.event().unwrap().id).collect(), rows.iter().map(|row| row.seq).collect())
}
