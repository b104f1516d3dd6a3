//! Several processes on one store. Each case starts the test binary again, as `child`, with a job in the environment.
//! Children wait until all of them are ready.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::{Fixture, append, at, change, details, key, outbox, write};
use crate::{EventQuery, Store};
use belay_core::SessionState;

const JOB: &str = "BELAY_CONFORMANCE_JOB";
const ADDRESS: &str = "BELAY_CONFORMANCE_ADDRESS";
const NAME: &str = "BELAY_CONFORMANCE_NAME";

const WRITERS: usize = 6;
const WRITES: u64 = 60;
/// Events in the shared session before the writers start.
const SEEDED_EVENTS: u64 = 20;
const FIRST_IDENTITY: &str = "first";

/// Running child processes.
struct Children(Vec<(Child, ChildStdin, BufReader<ChildStdout>)>);

impl Children {
    fn start(fixture: &impl Fixture, job: &str, count: usize) -> Self {
        let start = |n: usize| {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", fixture.child_test(), "--nocapture", "--test-threads=1"])
                .env(JOB, job)
                .env(ADDRESS, fixture.address())
                .env(NAME, format!("w{n}"))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let stdin = child.stdin.take().unwrap();
            let stdout = BufReader::new(child.stdout.take().unwrap());
            (child, stdin, stdout)
        };
        let mut children = Self((0..count).map(start).collect());
        children.0.iter_mut().for_each(|(_, _, stdout)| read_until(stdout, "ready", &mut Vec::new()));
        children
    }

    /// Starts the jobs and collects the printed lines.
    fn run(self) -> Vec<String> {
        let mut printed = Vec::new();
        let mut children = self.0;
        for (_, stdin, _) in &mut children {
            stdin.write_all(b"go\n").unwrap();
        }
        for (mut child, stdin, mut stdout) in children {
            read_until(&mut stdout, "done", &mut printed);
            drop(stdin);
            assert!(child.wait().unwrap().success());
        }
        printed
    }
}

/// Collects the lines that start with `: `, up to the marker.
fn read_until(stdout: &mut impl BufRead, marker: &str, printed: &mut Vec<String>) {
    for line in stdout.lines() {
        match line.unwrap().strip_prefix(": ") {
            Some(line) if line == marker => return,
            Some(line) => printed.push(line.to_owned()),
            None => {}
        }
    }
    panic!("a child exited before it printed {marker:?}");
}

fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n: {line}").unwrap();
    out.flush().unwrap();
}

/// The work of a child process; does nothing in an ordinary test run.
pub fn child(open: impl Fn(&str) -> Box<dyn Store>) {
    let Ok(job) = std::env::var(JOB) else { return };
    let address = std::env::var(ADDRESS).unwrap();
    let name = std::env::var(NAME).unwrap();
    let wait_for_start = || {
        print_line("ready");
        std::io::stdin().read_line(&mut String::new()).unwrap();
    };
    match job.as_str() {
        "write" => {
            let mut store = open(&address);
            wait_for_start();
            (0..WRITES).for_each(|n| write_one(&mut *store, &format!("{name}-{n}")));
        }
        "send" => {
            let mut store = open(&address);
            wait_for_start();
            loop {
                let lease = Duration::from_secs(600);
                let claimed = write(&mut *store, |tx| {
                    tx.route_messages(&["webhook"], at(10), 3).unwrap();
                    tx.claim_delivery("webhook", at(10), lease).unwrap()
                });
                match claimed {
                    Some(delivery) => print_line(&delivery.message.key),
                    None => break,
                }
            }
        }
        "open" => {
            wait_for_start();
            write_one(&mut *open(&address), &name);
        }
        other => panic!("unknown job {other}"),
    }
    print_line("done");
}

/// Appends an event to the session that all processes share, and repeats its first event.
fn write_one(store: &mut dyn Store, identity: &str) {
    write(store, |transaction| {
        let head = match transaction.session_head(&key("shared")).unwrap() {
            Some(head) => head,
            None => transaction.create(&key("shared"), at(1)).unwrap(),
        };
        assert!(append(transaction, &head, head.version + 1, identity));
        if head.version >= SEEDED_EVENTS {
            assert!(!append(transaction, &head, head.version + 2, FIRST_IDENTITY), "an old event is a duplicate");
        }
        transaction.save(head.id, &change(head.version, head.version + 1, &SessionState::Active, &details(1))).unwrap();
    });
}

fn assert_complete(store: &dyn Store, expected: u64) {
    let query = EventQuery { session: Some(key("shared")), limit: usize::MAX, ..EventQuery::default() };
    let rows = store.events(&query).unwrap();
    let numbers: Vec<u64> = rows.iter().map(|row| row.seq).collect();
    assert_eq!(numbers, (1..=expected).collect::<Vec<_>>(), "every number once");
    let mut events: Vec<&str> = rows.iter().map(|row| row.json.as_str()).collect();
    events.sort_unstable();
    events.dedup();
    assert_eq!(events.len() as u64, expected, "every event once");
    assert_eq!(store.session(&key("shared")).unwrap().unwrap().version, expected);
}

pub fn concurrent_writers_lose_no_update(fixture: &impl Fixture) {
    let mut store = fixture.open();
    write_one(&mut *store, FIRST_IDENTITY);
    (1..SEEDED_EVENTS).for_each(|n| write_one(&mut *store, &format!("before-{n}")));
    Children::start(fixture, "write", WRITERS).run();
    assert_complete(&*store, SEEDED_EVENTS + WRITERS as u64 * WRITES);
}

pub fn a_message_is_claimed_by_one_process(fixture: &impl Fixture) {
    let mut store = fixture.open();
    let mut keys: Vec<String> = (0..40).map(|n| format!("m{n:02}")).collect();
    for key in &keys {
        outbox::enqueue(&mut *store, key);
    }
    let mut sent = Children::start(fixture, "send", 4).run();
    sent.sort();
    keys.sort();
    assert_eq!(sent, keys);
}

pub fn processes_create_a_store_concurrently(fixture: &impl Fixture) {
    Children::start(fixture, "open", 8).run();
    assert_complete(&*fixture.open(), 8);
}
