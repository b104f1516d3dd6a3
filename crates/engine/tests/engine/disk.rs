//! Full and read-only disks: on a small tmpfs where the system permits mounting one (`unshare`), otherwise with a limit
//! on the file size.

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

use crate::fixtures::{TestClock, call, key, prompt};

const JOB: &str = "BELAY_TEST_DISK_JOB";
const DIR: &str = "BELAY_TEST_DISK_DIR";

/// Runs a job of [`child`] after `prepare` has set up the disk in `$BELAY_TEST_DISK_DIR`.
fn run(job: &str, dir: &Path, wrapper: &[&str], prepare: &str) {
    let exe = std::env::current_exe().unwrap();
    let script = format!("{prepare} && exec \"$0\" --exact disk::child --nocapture --test-threads=1");
    let output = Command::new(wrapper[0])
        .args(&wrapper[1..])
        .args(["-c", &script])
        .arg(exe)
        .env(JOB, job)
        .env(DIR, dir)
        .output()
        .unwrap();
    let output_text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output_text.contains(&format!(": {job} passed")), "{output_text}");
}

/// Whether the system permits private mounts.
fn can_mount() -> bool {
    let probe = Command::new("unshare").args(["-rm", "mount", "-t", "tmpfs", "tmpfs", "/tmp"]).output();
    probe.is_ok_and(|output| output.status.success())
}

const PRIVATE_MOUNTS: &[&str] = &["unshare", "-rm", "sh"];

#[test]
fn decisions_continue_on_a_full_disk() {
    let dir = tempfile::tempdir().unwrap();
    if can_mount() {
        run("full", dir.path(), PRIVATE_MOUNTS, &format!("mount -t tmpfs -o size=1m tmpfs \"${DIR}\""));
    } else {
        run("full", dir.path(), &["sh"], "trap '' XFSZ && ulimit -S -f 600");
    }
}

#[test]
fn decisions_and_holds_continue_on_a_read_only_disk() {
    if !can_mount() {
        return; // Root ignores permissions, so there is no other way to make the disk read-only; `faults` covers the rest.
    }
    let dir = tempfile::tempdir().unwrap();
    // A killed process leaves the pause in the WAL, where it must be found.
    let file = dir.path().join("belay.db");
    let mut engine = Engine::open(opener(&file), EngineOptions::default());
    engine.observe(prompt("held", "a")).unwrap();
    engine.observe(prompt("free", "a")).unwrap();
    engine.decide(&key("held"), OperatorDecision::Pause, "", None).unwrap();
    let crashed = tempfile::tempdir().unwrap();
    for name in ["belay.db", "belay.db-wal"] {
        fs::copy(dir.path().join(name), crashed.path().join(name)).unwrap();
    }
    drop(engine);
    let read_only = format!("mount --bind \"${DIR}\" \"${DIR}\" && mount -o remount,bind,ro \"${DIR}\"");
    run("read-only", crashed.path(), PRIVATE_MOUNTS, &read_only);
    // A process that exited normally leaves no WAL.
    run("read-only", dir.path(), PRIVATE_MOUNTS, &read_only);
}

/// Entry point of the child process; does nothing in an ordinary test run.
#[test]
fn child() {
    let (Ok(job), Ok(dir)) = (std::env::var(JOB), std::env::var(DIR)) else { return };
    match job.as_str() {
        "full" => full(Path::new(&dir)),
        "read-only" => read_only(Path::new(&dir)),
        other => panic!("unknown job {other}"),
    }
    println!(": {job} passed");
}

fn opener(file: &Path) -> StoreOpener {
    let store = StoreUrl::local(file);
    Box::new(move |access| belay_store::open(&store, access))
}

/// Fills the disk, or reaches the file size limit.
fn fill(filler: &Path) {
    let mut file = fs::File::create(filler).unwrap();
    for size in [65536, 4096, 512, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

/// Frees the disk and lifts the file size limit.
fn free_space(filler: &Path) {
    fs::remove_file(filler).unwrap();
    let limit = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

fn full(dir: &Path) {
    let file: PathBuf = dir.join("belay.db");
    let filler = dir.join("filler");
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
    // The WAL may have free space left.
    let full = (0..5000).map(|_| post(&mut engine)).find(|answer| !answer.committed).unwrap();
    assert_eq!(full.decision.verdict, Verdict::Go, "the agent continues");
    let health = engine.health();
    assert!(!health.is_healthy() && health.spooled == 1, "{health:?}");

    let paused = engine.decide(&key("s"), OperatorDecision::Pause, "", None).unwrap();
    assert!(!paused.committed);
    let held = post(&mut engine);
    assert!(matches!(held.decision.verdict, Verdict::Hold { .. }), "{held:?}");
    // Every attempt fails without damaging the store.
    for _ in 0..5 {
        clock.advance(Duration::from_secs(10));
        assert!(!engine.recover().is_healthy());
    }
    let reader = belay_store::open(&StoreUrl::local(&file), Access::Read).unwrap();
    assert_eq!(reader.check().unwrap(), [] as [String; 0]);

    free_space(&filler);
    clock.advance(Duration::from_secs(10));
    assert!(post(&mut engine).committed);
    assert!(engine.health().is_healthy());
    assert_eq!(reader.check().unwrap(), [] as [String; 0]);
    let query = EventQuery { limit: usize::MAX, ..EventQuery::default() };
    assert_eq!(reader.events(&query).unwrap().len() as u64, posted + 1, "every call and the pause");
    assert!(reader.session(&key("s")).unwrap().unwrap().state.is_paused());
}

fn read_only(dir: &Path) {
    let mut engine = Engine::open(opener(&dir.join("belay.db")), EngineOptions::default());
    let fault = engine.health().fault.unwrap();
    assert!(fault.problem.contains("Read-only file system"), "{fault:?}");
    let held = engine.observe(call("held", 1)).unwrap();
    assert!(matches!(held.decision.verdict, Verdict::Hold { .. }), "{held:?}");
    let free = engine.observe(call("free", 1)).unwrap();
    assert_eq!((free.decision.verdict, free.committed), (Verdict::Go, false));
    assert!(engine.observe(prompt("free", "a")).unwrap().decision.duplicate, "the store is readable");
    assert_eq!(engine.observe(call("new", 1)).unwrap().decision.verdict, Verdict::Go);
    assert_eq!(engine.health().spooled, 3);
}
