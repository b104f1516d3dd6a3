//! Events that hook processes saved: each is recorded once, whatever is killed and whatever lies in the directory.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use belay_core::event::{Operator, OperatorDecision, Prompt};
use belay_core::{Body, Event, Excerpt, Source};
use belay_engine::{Engine, EngineOptions, SpoolDir, SpoolError};
use belay_store::{Access, EventQuery, StoreUrl};

use crate::fixtures::{TestClock, TestDir, event, key};

fn hook_event(session: &str, id: &str) -> Event {
    Event { source: Source::Hook, ..event(session, id, Body::Prompt(Prompt::default())) }
}

fn spool(dir: &TestDir) -> SpoolDir {
    SpoolDir::new(dir.0.path().join("spool"))
}

/// An engine as a hook process has it.
fn engine(dir: &TestDir) -> RefCell<Engine> {
    let clock = Box::new(TestClock::default());
    let options = EngineOptions { clock, spool_dir: Some(spool(dir)), ..EngineOptions::default() };
    RefCell::new(Engine::new(dir.store(), options))
}

fn recorded_ids(dir: &TestDir, session: &str) -> Vec<String> {
    let query = EventQuery { session: Some(key(session)), limit: usize::MAX, ..EventQuery::default() };
    dir.store().events(&query).unwrap().iter().map(|row| row.event().unwrap().id).collect()
}

fn files(dir: &TestDir) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(spool(dir).path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// A hook process that finds the store locked and exits.
fn decide_while_locked(dir: &TestDir, ids: &[&str]) {
    let locked = dir.sqlite();
    locked.execute_batch("BEGIN IMMEDIATE").unwrap();
    let engine = engine(dir);
    for id in ids {
        assert!(!engine.borrow_mut().observe(hook_event("s", id)).unwrap().committed);
    }
    assert_eq!(engine.borrow_mut().save_spool().unwrap(), ids.len());
}

#[test]
fn events_of_a_locked_store_are_recorded_later_in_order() {
    let dir = TestDir::new();
    drop(dir.store());
    decide_while_locked(&dir, &["a", "b"]);
    decide_while_locked(&dir, &["c"]);
    assert_eq!(recorded_ids(&dir, "s"), [] as [&str; 0]);
    let mode = |path: &PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(files(&dir).iter().map(mode).collect::<Vec<_>>(), [0o600, 0o600]);
    assert_eq!(mode(&spool(&dir).path().to_path_buf()), 0o700);
    assert_eq!(spool(&dir).content().unwrap().waiting, 2);

    let taken = spool(&dir).take_in(&engine(&dir), usize::MAX).unwrap();
    assert_eq!((taken.files, taken.events, taken.damaged), (2, 3, 0));
    let mut ids = recorded_ids(&dir, "s");
    // Two files of the same millisecond have no order.
    ids.sort();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(files(&dir), [] as [PathBuf; 0]);
}

#[test]
fn a_process_that_stops_saves_the_events_of_hooks_only() {
    let dir = TestDir::new();
    drop(dir.store());
    let locked = dir.sqlite();
    locked.execute_batch("BEGIN IMMEDIATE").unwrap();
    let engine = engine(&dir);
    let many = (0..600).map(|n| hook_event("s", &format!("{n:03}")));
    engine.borrow_mut().observe_batch(many.chain([event("s", "posted", Body::Prompt(Prompt::default()))]).collect());
    engine.borrow_mut().decide(&key("s"), OperatorDecision::Pause, "", None).unwrap();
    assert_eq!(engine.borrow_mut().save_spool().unwrap(), 600);
    assert_eq!(engine.borrow().health().spooled, 2, "what was posted, and the decision");
    drop(locked);
    assert_eq!(spool(&dir).take_in(&self::engine(&dir), usize::MAX).unwrap().events, 600);
    assert_eq!(recorded_ids(&dir, "s").len(), 600);
}

#[test]
fn a_file_that_is_read_twice_counts_once() {
    let dir = TestDir::new();
    drop(dir.store());
    decide_while_locked(&dir, &["a", "b"]);
    let saved = files(&dir).remove(0);
    let json = std::fs::read(&saved).unwrap();
    spool(&dir).take_in(&engine(&dir), usize::MAX).unwrap();
    // As if the process had been killed after the commit.
    std::fs::write(&saved, json).unwrap();
    assert_eq!(spool(&dir).take_in(&engine(&dir), usize::MAX).unwrap().files, 1);
    assert_eq!(recorded_ids(&dir, "s"), ["a", "b"]);
    assert_eq!(files(&dir), [] as [PathBuf; 0]);
}

#[test]
fn files_stay_while_the_store_is_locked() {
    let dir = TestDir::new();
    drop(dir.store());
    decide_while_locked(&dir, &["a"]);
    let locked = dir.sqlite();
    locked.execute_batch("BEGIN IMMEDIATE").unwrap();
    let engine = engine(&dir);
    assert_eq!(spool(&dir).take_in(&engine, usize::MAX).unwrap(), Default::default());
    assert_eq!(files(&dir).len(), 1);
    drop(locked);
    assert!(engine.borrow_mut().flush().is_healthy());
    assert_eq!(spool(&dir).take_in(&engine, usize::MAX).unwrap().files, 1);
    assert_eq!(recorded_ids(&dir, "s"), ["a"]);
}

#[test]
fn a_full_directory_takes_no_more() {
    let dir = TestDir::new();
    spool(&dir).save(&[hook_event("s", "a")]).unwrap();
    let filler = std::fs::File::create(spool(&dir).path().join("filler.damaged")).unwrap();
    filler.set_len(16 << 20).unwrap();
    let full = spool(&dir).save(&[hook_event("s", "b")]);
    assert!(matches!(full, Err(SpoolError::Full { files: 2, .. })), "{full:?}");
    let long = Body::Prompt(Prompt { text: Excerpt::new(&"word ".repeat(400)), ..Prompt::default() });
    let large: Vec<Event> = (0..1000).map(|n| event("s", &n.to_string(), long.clone())).collect();
    assert!(matches!(spool(&dir).save(&large), Err(SpoolError::TooLarge { .. })));
    assert_eq!(spool(&dir).content().unwrap().waiting, 1);
}

#[test]
fn what_no_hook_saves_is_set_aside() {
    let dir = TestDir::new();
    drop(dir.store());
    spool(&dir).save(&[hook_event("s", "good")]).unwrap();
    let place = |name: &str| spool(&dir).path().join(name);
    std::fs::write(place("0-empty.json"), "").unwrap();
    std::fs::write(place("0-half.json"), "[{\"id\":").unwrap();
    let target = dir.0.path().join("target");
    std::fs::write(&target, serde_json::to_vec(&[hook_event("s", "linked")]).unwrap()).unwrap();
    symlink(&target, place("0-link.json")).unwrap();
    let fifo = Command::new("mkfifo").arg(place("0-fifo.json")).status().unwrap();
    assert!(fifo.success());
    let operator = Operator { decision: OperatorDecision::Archive, note: Excerpt::new(""), by: None, caller: None };
    let forged = Event { body: Body::Operator(operator), ..hook_event("s", "forged") };
    std::fs::write(place("0-forged.json"), serde_json::to_vec(&[forged]).unwrap()).unwrap();
    let posted = Event { source: Source::Operator, ..hook_event("s", "posted") };
    std::fs::write(place("0-posted.json"), serde_json::to_vec(&[posted]).unwrap()).unwrap();

    let taken = spool(&dir).take_in(&engine(&dir), usize::MAX).unwrap();
    assert_eq!((taken.files, taken.damaged), (1, 6));
    assert_eq!(recorded_ids(&dir, "s"), ["good"]);
    assert!(target.exists());
    let content = spool(&dir).content().unwrap();
    assert_eq!(content.waiting, 0);
    let names = ["empty", "fifo", "forged", "half", "link", "posted"].map(|name| format!("0-{name}.damaged"));
    assert_eq!(content.damaged, names);
}

#[test]
fn a_linked_directory_is_not_used() {
    let dir = TestDir::new();
    drop(dir.store());
    let elsewhere = TestDir::new();
    symlink(elsewhere.0.path(), spool(&dir).path()).unwrap();
    assert!(matches!(spool(&dir).save(&[hook_event("s", "a")]), Err(SpoolError::Io { .. })));
    std::fs::write(elsewhere.0.path().join("0.json"), "[]").unwrap();
    assert!(spool(&dir).take_in(&engine(&dir), usize::MAX).is_err());
    assert!(elsewhere.0.path().join("0.json").exists());
}

const KILLED: &str = "BELAY_TEST_SPOOL";
const KILLS: usize = 24;

/// Entry point of the processes that are killed; does nothing in an ordinary test run.
#[test]
fn child() {
    let Ok(role_and_path) = std::env::var(KILLED) else { return };
    let (role, path) = role_and_path.split_once(' ').unwrap();
    let spool = SpoolDir::new(format!("{path}/spool"));
    match role {
        "take" => {
            let store = belay_store::open(&StoreUrl::local(format!("{path}/belay.db")), Access::Write).unwrap();
            let engine = RefCell::new(Engine::new(store, EngineOptions::default()));
            loop {
                if spool.take_in(&engine, usize::MAX).unwrap().files > 0 {
                    std::io::stdout().write_all(b"\n: taken in\n").unwrap();
                }
            }
        }
        name => {
            for n in 0.. {
                let ids = [format!("{name}-{n}-a"), format!("{name}-{n}-b")];
                spool.save(&ids.each_ref().map(|id| hook_event("s", id))).unwrap();
                // One write per line, so that a kill never splits a line.
                std::io::stdout().write_all(format!("\n: {}\n: {}\n", ids[0], ids[1]).as_bytes()).unwrap();
            }
        }
    }
}

fn start(dir: &TestDir, role: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "spool::child", "--nocapture", "--test-threads=1"]);
    command.env(KILLED, format!("{role} {}", dir.0.path().display())).stdout(Stdio::piped()).spawn().unwrap()
}

/// What a process prints.
fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.filter_map(|line| line.strip_prefix(": ").map(str::to_owned))
}

#[test]
fn saved_events_survive_sigkill_and_count_once() {
    let dir = TestDir::new();
    drop(dir.store());
    let mut saved = BTreeSet::new();
    for round in 0..KILLS {
        let mut saver = start(&dir, &format!("saver-{round}"));
        let mut taker = start(&dir, "take");
        let mut ids = lines(&mut saver);
        // Both are killed after a different number of files; every other time while events are being recorded.
        saved.extend(ids.by_ref().take(round * 7 % 12 + 1));
        if round % 2 == 1 {
            assert_eq!(lines(&mut taker).next().as_deref(), Some("taken in"));
        }
        taker.kill().unwrap();
        saver.kill().unwrap();
        saved.extend(ids);
        taker.wait().unwrap();
        saver.wait().unwrap();
    }
    spool(&dir).take_in(&engine(&dir), usize::MAX).unwrap();
    let recorded = recorded_ids(&dir, "s");
    let distinct: BTreeSet<String> = recorded.iter().cloned().collect();
    assert_eq!(distinct.len(), recorded.len(), "an event counts once");
    assert_eq!(saved.difference(&distinct).collect::<Vec<_>>(), [] as [&String; 0], "nothing is lost");
    assert_eq!(spool(&dir).content().unwrap().damaged, [] as [&str; 0]);
    println!("{} kills: {} events saved, 0 lost, 0 doubled", 2 * KILLS, saved.len());
}
