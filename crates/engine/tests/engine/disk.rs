//! Disks that are full or read-only, for real: on a small disk of their own where the system lets us mount one
//! (`unshare`), else by a limit on the size of files.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use belay_core::Verdict;
use belay_core::event::OperatorDecision;
use belay_engine::{Engine, EngineOptions, StoreOpener};
use belay_store::{Access, EventQuery, StoreUrl};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::common::{TestClock, call, key, prompt};

const JOB: &str = "BELAY_TEST_DISK_JOB";
const FOLDER: &str = "BELAY_TEST_DISK_FOLDER";

/// Runs a job of [`child`] in a shell that has prepared the disk in `$BELAY_TEST_DISK_FOLDER`.
fn run(job: &str, folder: &Path, wrapper: &[&str], prepare: &str) {
    let exe = std::env::current_exe().unwrap();
    let script = format!("{prepare} && exec \"$0\" --exact disk::child --nocapture --test-threads=1");
    let output = Command::new(wrapper[0])
        .args(&wrapper[1..])
        .args(["-c", &script])
        .arg(exe)
        .env(JOB, job)
        .env(FOLDER, folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains(&format!(": {job} is as it should be")), "{said}");
}

/// Whether this system gives us mounts of our own.
fn can_mount() -> bool {
    let probe = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/tmp"]).output();
    probe.is_ok_and(|output| output.status.success())
}

const OWN_MOUNTS: &[&str] = &["unshare", "-rm", "sh"];

#[test]
fn a_full_disk_stops_no_decision_and_corrupts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    if can_mount() {
        run("full", folder.path(), OWN_MOUNTS, &format!("mount -t tmpfs -o size=1m tmpfs \"${FOLDER}\""));
    } else {
        run("full", folder.path(), &["sh"], "trap '' XFSZ && ulimit -S -f 600");
    }
}

#[test]
fn a_read_only_disk_stops_no_decision_and_frees_nobody() {
    if !can_mount() {
        return; // Permissions say the same to everybody but root; `faults` tests what follows.
    }
    let folder = tempfile::tempdir().unwrap();
    // A process that was killed leaves the pause in the WAL, and that is where it must be found.
    let file = folder.path().join("belay.db");
    let mut engine = Engine::open(opener(&file), EngineOptions::default());
    engine.observe(prompt("held", "a")).unwrap();
    engine.observe(prompt("free", "a")).unwrap();
    engine.decide(&key("held"), OperatorDecision::Pause, "", None).unwrap();
    let crashed = tempfile::tempdir().unwrap();
    for name in ["belay.db", "belay.db-wal"] {
        fs::copy(folder.path().join(name), crashed.path().join(name)).unwrap();
    }
    drop(engine);
    let read_only = format!("mount --bind \"${FOLDER}\" \"${FOLDER}\" && mount -o remount,bind,ro \"${FOLDER}\"");
    run("read-only", crashed.path(), OWN_MOUNTS, &read_only);
    // And one that ended in order leaves no WAL at all.
    run("read-only", folder.path(), OWN_MOUNTS, &read_only);
}

/// Not a test by itself: what happens on the prepared disk.
#[test]
fn child() {
    let (Ok(job), Ok(folder)) = (std::env::var(JOB), std::env::var(FOLDER)) else { return };
    match job.as_str() {
        "full" => full(Path::new(&folder)),
        "read-only" => read_only(Path::new(&folder)),
        other => panic!("no job is called {other}"),
    }
    println!(": {job} is as it should be");
}

fn opener(file: &Path) -> StoreOpener {
    let store = StoreUrl::local(file);
    Box::new(move |access| belay_store::open(&store, access))
}

/// Writes until there is no room. Where a limit stands for the disk, there is nothing to fill.
fn fill(filler: &Path) {
    let mut file = fs::File::create(filler).unwrap();
    for size in [65536, 4096, 512, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

/// Somebody frees some room.
fn make_room(filler: &Path) {
    fs::remove_file(filler).unwrap();
    let limit = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

fn full(folder: &Path) {
    let file: PathBuf = folder.join("belay.db");
    let filler = folder.join("filler");
    let clock = TestClock::default();
    let mut engine =
        Engine::open(opener(&file), EngineOptions { clock: Box::new(clock.clone()), ..EngineOptions::default() });
    let mut posted = 0;
    let mut post = |engine: &mut Engine| {
        posted += 1;
        engine.observe(call("s", posted)).unwrap()
    };
    assert!(post(&mut engine).committed);
    fill(&filler);
    // The WAL may have some room of its own left.
    let full = (0..5000).map(|_| post(&mut engine)).find(|answer| !answer.committed).unwrap();
    assert_eq!(full.decision.verdict, Verdict::Go, "the agent goes on");
    let health = engine.health();
    assert!(!health.is_healthy() && health.spooled == 1, "{health:?}");

    let paused = engine.decide(&key("s"), OperatorDecision::Pause, "", None).unwrap();
    assert!(!paused.committed);
    let held = post(&mut engine);
    assert!(matches!(held.decision.verdict, Verdict::Hold { .. }), "{held:?}");
    // Every attempt fails, and none does harm.
    for _ in 0..5 {
        clock.pass(Duration::from_secs(10));
        assert!(!engine.recover().is_healthy());
    }
    let reader = belay_store::open(&StoreUrl::local(&file), Access::Read).unwrap();
    assert_eq!(reader.check().unwrap(), [] as [String; 0]);

    make_room(&filler);
    clock.pass(Duration::from_secs(10));
    assert!(post(&mut engine).committed);
    assert!(engine.health().is_healthy());
    assert_eq!(reader.check().unwrap(), [] as [String; 0]);
    let query = EventQuery { limit: usize::MAX, ..EventQuery::default() };
    assert_eq!(reader.events(&query).unwrap().len() as u64, posted + 1, "every call and the pause");
    assert!(reader.session(&key("s")).unwrap().unwrap().state.is_paused());
}

fn read_only(folder: &Path) {
    let mut engine = Engine::open(opener(&folder.join("belay.db")), EngineOptions::default());
    let fault = engine.health().fault.unwrap();
    assert!(fault.problem.contains("Read-only file system"), "{fault:?}");
    let held = engine.observe(call("held", 1)).unwrap();
    assert!(matches!(held.decision.verdict, Verdict::Hold { .. }), "{held:?}");
    let free = engine.observe(call("free", 1)).unwrap();
    assert_eq!((free.decision.verdict, free.committed), (Verdict::Go, false));
    assert!(engine.observe(prompt("free", "a")).unwrap().decision.duplicate, "the store can be read");
    assert_eq!(engine.observe(call("new", 1)).unwrap().decision.verdict, Verdict::Go);
    assert_eq!(engine.health().spooled, 3);
}
