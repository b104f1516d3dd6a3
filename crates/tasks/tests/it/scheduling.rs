use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use belay_core::Timestamp;
use belay_core::task::{Record, StepFailure};
use belay_core::wait::Awaited;
use belay_tasks::TaskError;

use crate::support::World;
use crate::toy::{Act, Count, Decision, Spec};

fn crashed() -> Act {
    Act::Fail(StepFailure::Crashed { why: "signal 9".to_owned() })
}

#[test]
fn a_task_runs_its_steps_and_ends() {
    let world = World::new();
    let task = world.count("a");
    assert_eq!(world.end(&task), "counted");
    assert_eq!((world.log(), world.summary(&task).micros), (vec!["a 1".to_owned(), "a 2".to_owned()], 20));
    world.until(|| !world.tasks.is_busy());
    assert_eq!(task.replay::<Count>().unwrap().entries.len(), 4, "each step was recorded before and after");
}

#[test]
fn a_step_that_fails_or_panics_runs_once_more() {
    let world = World::new();
    world.act("a", crashed());
    world.act("b", Act::Panic);
    world.act("c", crashed());
    world.act("c", crashed());
    let tasks = ["a", "b"].map(|name| world.count(name));
    assert_eq!(tasks.map(|task| world.end(&task)), ["counted", "counted"]);
    assert_eq!(world.log(), ["a 1", "a 1", "a 2", "b 1", "b 1", "b 2"]);
    let task = world.count("c");
    assert_eq!(world.end(&task), "signal 9");
    world.tasks.decide(&task, "ada", Decision::Resume).unwrap();
    world.until(|| world.summary(&task).end.as_deref() == Some("counted"));
}

#[test]
fn a_step_of_a_process_that_died_is_recovered_and_runs_again() {
    let world = World::new();
    world.tasks.set_paused(true).unwrap();
    let task = world.count("a");
    let world = world.restart();
    // As if that process had been killed just after it wrote this.
    let initial = belay_core::task::Machine::new(task.read_filed::<Count>().unwrap().spec, Timestamp::UNKNOWN);
    let mut journal = belay_tasks::Journal::<Count>::open(&task.journal(), initial.unwrap()).unwrap();
    journal.record(Timestamp::UNKNOWN, Record::Started { step: 1, attempt: 1 }).unwrap();
    let world = world.restart();
    world.until(|| world.log() == ["a 1 recovered"]);
    world.tasks.set_paused(false).unwrap();
    assert_eq!(world.end(&task), "counted");
    assert_eq!(world.log(), ["a 1 recovered", "a 1", "a 2"]);
    let attempts: Vec<u32> = task
        .replay::<Count>()
        .unwrap()
        .entries
        .iter()
        .filter_map(|entry| match entry.record {
            Record::Started { attempt, .. } => Some(attempt),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [1, 2, 3]);
}

#[test]
fn a_shutdown_interrupts_and_the_next_process_goes_on() {
    let world = World::new();
    let _never = world.block("a");
    let task = world.count("a");
    world.until(|| world.log() == ["a 1"]);
    let world = world.restart();
    assert_eq!(world.end(&task), "counted");
    assert_eq!(world.log(), ["a 1", "a 1", "a 2"]);
}

#[test]
fn what_a_cancelled_step_cost_counts_and_its_result_does_not() {
    let world = World::new();
    let _never = world.block("a");
    let task = world.count("a");
    world.until(|| world.log() == ["a 1"]);
    assert_eq!(world.tasks.decide(&task, "ada", Decision::Cancel).unwrap().end.as_deref(), Some("cancelled"));
    world.until(|| world.summary(&task).micros == 10 && !world.tasks.is_busy());
    assert_eq!(world.log(), ["a 1"]);
}

#[test]
fn a_limit_is_waited_for_without_a_worker() {
    let world = World::new();
    let until = Timestamp::from_millis(belay_clock::now().millis() + 3_600_000);
    world.act("a", Act::Fail(StepFailure::Limited { account: "x".to_owned(), until, session: None }));
    let limited = world.count("a");
    world.until(|| matches!(world.summary(&limited).waiting, Some(Awaited::Limit { .. })));
    // There is one worker.
    let other = world.count("b");
    assert_eq!(world.end(&other), "counted");
    assert!(world.tasks.is_busy() && world.summary(&limited).end.is_none());
}

#[test]
fn a_directory_is_used_by_one_task_at_a_time_also_of_another_driver() {
    let (world, dir) = (World::new(), tempfile::tempdir().unwrap());
    let other = world.other();
    let spec = |name: &str, dir| Spec { name: name.to_owned(), count: 1, dir: Some(dir), ..Spec::default() };
    let release = world.block("a");
    let first = world.file(spec("a", dir.path().to_owned()));
    world.until(|| world.log() == ["a 1"]);
    let second = other.file(spec("b", dir.path().join("below")));
    let holder = first.id().to_owned();
    other.until(|| other.summary(&second).waiting == Some(Awaited::Lock { holder: holder.clone() }));
    assert!(other.log().is_empty());
    release.send(()).unwrap();
    assert_eq!((world.end(&first), other.end(&second)), ("counted".to_owned(), "counted".to_owned()));
}

#[test]
fn nothing_starts_in_a_paused_queue_which_has_an_end() {
    let world = World::new();
    world.tasks.set_paused(true).unwrap();
    let task = world.count("a");
    world.count("b");
    world.count("c");
    let full = belay_tasks::NewTask {
        spec: Spec { name: "d".to_owned(), count: 1, ..Spec::default() },
        by: "ada".to_owned(),
        env: belay_drive::environment::Environment::default(),
        artifacts_dir: None,
        files: Vec::new(),
    };
    assert!(matches!(world.tasks.file(full), Err(TaskError::QueueFull { depth: 2 })));
    assert!(world.log().is_empty());
    let world = world.restart();
    assert!(world.log().is_empty(), "a pause outlives the process");
    world.tasks.set_paused(false).unwrap();
    assert_eq!(world.end(&task), "counted");
    assert_eq!(world.log().first().map(String::as_str), Some("a 1"), "in the order of their filing");
}

#[test]
fn a_task_that_rests_begins_when_something_is_observed() {
    let world = World::new();
    let task = world.file(Spec { name: "a".to_owned(), count: 1, waits_for_fact: true, ..Spec::default() });
    assert_eq!(world.end(&world.count("b")), "counted");
    assert!(world.summary(&task).end.is_none() && world.tasks.is_busy());
    world.tasks.observe(&task, "idle".to_owned()).unwrap();
    assert_eq!(world.end(&task), "counted");
}

#[test]
fn a_condition_is_watched_by_the_next_process_too_and_a_command_never_runs() {
    let (world, dir) = (World::new(), tempfile::tempdir().unwrap());
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let awaits = |name: &str, awaited| Spec {
        name: name.to_owned(),
        count: 1,
        waits_for_fact: true,
        awaits: Some(awaited),
        ..Spec::default()
    };
    let command = Awaited::Command { command: "touch ran".to_owned(), dir: path("") };
    // Looked at first, because it was filed first.
    let commanded = world.file(awaits("command", command.clone()));
    let file = world.file(awaits("file", Awaited::File { path: path("done") }));
    for task in [&commanded, &file] {
        world.tasks.observe(task, "idle".to_owned()).unwrap();
    }
    let world = world.restart();
    assert!(world.tasks.is_busy() && world.summary(&file).waiting.is_some(), "the wait is in the journal");
    std::fs::write(path("done"), "").unwrap();
    assert_eq!(world.end(&file), "counted");
    assert_eq!(world.log(), ["file 1"]);
    // An agent may have declared it: here it would run outside of that agent's sandbox.
    assert!(world.summary(&commanded).waiting == Some(command) && !dir.path().join("ran").exists());
}

#[test]
fn the_result_of_an_ended_task_is_claimed_by_one() {
    let world = World::new();
    let release = world.block("a");
    let task = world.count("a");
    world.until(|| world.log() == ["a 1"]);
    assert!(matches!(world.tasks.claim(&task), Err(TaskError::StillRunning)));
    release.send(()).unwrap();
    world.end(&task);
    let claim = world.tasks.claim(&task).unwrap();
    assert!(matches!(world.tasks.decide(&task, "ada", Decision::Resume), Err(TaskError::Claimed)));
    assert!(matches!(world.tasks.claim(&task), Err(TaskError::Claimed)));
    assert_eq!(claim.observe("landed".to_owned()).unwrap().end.as_deref(), Some("landed"));
    drop(claim);
    assert_eq!(world.summary(&task).end.as_deref(), Some("landed"));
    assert_eq!(world.tasks.decide(&task, "ada", Decision::Resume).unwrap().end, None);
    assert!(world.root().join(task.id()).join("meta.json").exists());
}

#[test]
fn a_decision_about_a_task_that_is_being_filed_waits_for_it() {
    let world = World::new();
    world.tasks.set_paused(true).unwrap();
    let (written, is_written) = channel();
    let (release, released) = channel::<()>();
    *world.toy.0.on_filed.lock().unwrap() = Some(Box::new(move || {
        written.send(()).unwrap();
        released.recv().unwrap();
    }));
    std::thread::scope(|scope| {
        let filing = scope.spawn(|| world.count("a"));
        is_written.recv().unwrap();
        let found = std::fs::read_dir(world.root()).unwrap().find_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            name.starts_with("c-").then_some(name)
        });
        let task = world.tasks.resolve(&found.unwrap()).unwrap();
        let (decided, is_decided) = channel();
        let (tasks, dir) = (&world.tasks, task.clone());
        scope.spawn(move || decided.send(tasks.decide(&dir, "ada", Decision::Cancel)).unwrap());
        let early = is_decided.recv_timeout(Duration::from_millis(100));
        release.send(()).unwrap();
        assert!(matches!(early, Err(RecvTimeoutError::Timeout)), "its journal would be open twice");
        filing.join().unwrap();
        assert_eq!(is_decided.recv().unwrap().unwrap().end.as_deref(), Some("cancelled"));
        assert_eq!(task.replay::<Count>().unwrap().entries.len(), 1);
    });
    assert!(!world.tasks.is_busy() && world.log().is_empty());
}

#[test]
fn a_task_that_cannot_be_continued_is_left_alone_for_a_while() {
    let (world, dir) = (World::new(), tempfile::tempdir().unwrap());
    let stuck = Spec { name: "stuck".to_owned(), count: 1, is_stuck: true, ..Spec::default() };
    // It takes its directory before its start is recorded, and its driver hears that the directory is free again.
    let stuck = world.file(Spec { dir: Some(dir.path().to_owned()), ..stuck });
    for name in ["a", "b", "c"] {
        assert_eq!(world.end(&world.count(name)), "counted");
    }
    let considered = world.toy.0.considered.lock().unwrap().iter().filter(|name| *name == "stuck").count();
    assert!((1..=2).contains(&considered), "it was tried {considered} times");
    assert_eq!(world.tasks.decide(&stuck, "ada", Decision::Cancel).unwrap().end.as_deref(), Some("cancelled"));
}
