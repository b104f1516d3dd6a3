//! Acknowledged events survive `kill -9` at any point.
//!
//! Eight processes write to one store, each through its own engine, and print what was acknowledged. They are killed at
//! random points and restarted; at the end their output is compared with the log.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use belay_core::event::OperatorDecision;
use belay_core::{SessionKey, Source, Timestamp};
use belay_engine::{Engine, EngineOptions};
use belay_store::{Access, EventQuery, Store, StoreUrl};

use crate::fixtures::{TestDir, key, prompt};

const WRITERS: usize = 8;
const KILLS: usize = 56;
const STORE: &str = "BELAY_TEST_KILL_STORE";
const NAME: &str = "BELAY_TEST_KILL_NAME";

/// Entry point of a writer process; does nothing in an ordinary test run.
#[test]
fn child() {
    let (Ok(store), Ok(name)) = (std::env::var(STORE), std::env::var(NAME)) else { return };
    let store = belay_store::open(&StoreUrl::local(store), Access::Write).unwrap();
    let mut engine = Engine::new(store, EngineOptions::default());
    // One write per line, so that a kill never splits a line.
    let print_line = |line: String| std::io::stdout().write_all(format!("\n: {line}\n").as_bytes()).unwrap();
    for n in 0u64.. {
        let own = format!("{name}-{}", n / 12);
        let mut events = vec![prompt("shared", &format!("{name}-{n}")), prompt(&own, &format!("p{n}"))];
        events.iter_mut().for_each(|event| (event.at, event.source) = (Timestamp::UNKNOWN, Source::Api));
        let lines: Vec<String> =
            events.iter().map(|event| format!("event {} {}", event.session.id, event.id)).collect();
        for (outcome, line) in engine.observe_batch(events).into_iter().zip(lines) {
            if outcome.unwrap().committed {
                print_line(line);
            }
        }
        if n % 12 == 7 && engine.decide(&key(&own), OperatorDecision::Pause, "", None).unwrap().committed {
            print_line(format!("paused {own}"));
        }
    }
}

struct Writer {
    child: Child,
    generation: usize,
}

impl Writer {
    fn start(dir: &TestDir, index: usize, generation: usize, output: &Sender<String>) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::child", "--nocapture", "--test-threads=1"])
            .env(STORE, dir.file())
            .env(NAME, format!("w{index}g{generation}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let output = output.clone();
        std::thread::spawn(move || {
            let lines = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix(": ").map(str::to_owned));
            lines.for_each(|line| drop(output.send(line)));
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

/// Everything acknowledged to any writer.
#[derive(Default)]
struct Acknowledged {
    events: BTreeMap<String, BTreeSet<String>>,
    paused: BTreeSet<String>,
}

impl Acknowledged {
    fn record(&mut self, line: &str) {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["event", session, id] => {
                assert!(self.events.entry(session.to_owned()).or_default().insert(id.to_owned()), "{line} twice");
            }
            ["paused", session] => drop(self.paused.insert(session.to_owned())),
            _ => panic!("unexpected line {line:?}"),
        }
    }
}

fn run(dir: &TestDir) -> Acknowledged {
    let (sender, receiver): (Sender<String>, Receiver<String>) = channel();
    let mut writers: Vec<Writer> = (0..WRITERS).map(|index| Writer::start(dir, index, 0, &sender)).collect();
    let mut acknowledged = Acknowledged::default();
    let mut random: u64 = 0x2545_f491_4f6c_dd1d;
    for _ in 0..KILLS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Kill after a random number of acknowledgements.
        for _ in 0..random % 40 + 1 {
            acknowledged.record(&receiver.recv().unwrap());
        }
        let index = usize::try_from(random >> 32).unwrap() % WRITERS;
        let writer = &mut writers[index];
        writer.kill();
        *writer = Writer::start(dir, index, writer.generation + 1, &sender);
    }
    // Kill the remaining writers; their last output is still in the pipes.
    drop(writers);
    drop(sender);
    receiver.iter().for_each(|line| acknowledged.record(&line));
    acknowledged
}

#[test]
fn acknowledged_events_survive_sigkill() {
    let dir = TestDir::new();
    drop(dir.store());
    let acknowledged = run(&dir);
    assert!(acknowledged.events.values().map(BTreeSet::len).sum::<usize>() > KILLS);
    assert!(!acknowledged.paused.is_empty());

    let store = dir.store();
    assert_eq!(store.check().unwrap(), [] as [String; 0]);
    let total = acknowledged.events.values().map(BTreeSet::len).sum::<usize>();
    for (session, ids) in &acknowledged.events {
        let (log, numbers) = log(&*store, &key(session));
        let lost: Vec<_> = ids.difference(&log).collect();
        assert!(lost.is_empty(), "{session} lost {lost:?}");
        assert_eq!(log.len(), numbers.len(), "{session} has an event twice");
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "{session}");
        let row = store.session(&key(session)).unwrap().unwrap();
        assert_eq!(row.version, numbers.len() as u64);
        let restored = dir.engine().session(&key(session)).unwrap().unwrap();
        assert_eq!((restored.counters.events, &restored.state), (row.version, &row.state), "{session}");
    }
    for session in &acknowledged.paused {
        assert!(store.session(&key(session)).unwrap().unwrap().state.is_paused(), "{session}");
    }
    println!("{KILLS} kills: {total} events acknowledged, 0 lost, 0 doubled");
}

fn log(store: &dyn Store, session: &SessionKey) -> (BTreeSet<String>, Vec<u64>) {
    let query = EventQuery { session: Some(session.clone()), limit: usize::MAX, ..EventQuery::default() };
    let rows = store.events(&query).unwrap();
    (rows.iter().map(|row| row.event().unwrap().id).collect(), rows.iter().map(|row| row.seq).collect())
}
