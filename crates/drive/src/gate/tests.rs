use std::io::Read;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::workspace::tests::{Project, read, write};
use belay_core::task::WorkspaceMode;

/// A gate in a directory, with the environment of the tests.
fn gate<'a>(command: &'a str, dir: &'a Path, cancel: &'a CancelHandle) -> GateRun<'a> {
    GateRun { command, dir, env: &None, timeout: None, cancel, marker: None, output_file: None }
}

fn run_in(dir: &Path, command: &str) -> GateOutcome {
    run(&gate(command, dir, &CancelHandle::default())).expect("an outcome")
}

fn run_in_workspace(workspace: &Workspace, command: &str) -> BoundOutcome {
    run_bound(workspace, &gate(command, workspace.dir(), &CancelHandle::default()), None).expect("an outcome")
}

#[test]
fn a_gate_passes_by_its_exit_status() {
    let dir = tempfile::tempdir().expect("a directory");
    let green = run_in(dir.path(), "echo 'all is well'");
    assert!(green.passed() && green.status == Some(0) && green.attempts == 1);
    assert_eq!((green.summary.as_str(), green.output_tail.as_str()), ("all is well", "all is well\n"));
    let red = run_in(dir.path(), "echo out; echo 'all tests passed' >&2; exit 3");
    assert!(!red.passed() && red.status == Some(3));
    assert_eq!(
        (red.summary.as_str(), red.output_tail.as_str()),
        ("exit status 3: all tests passed", "out\nall tests passed\n")
    );
    let killed = run_in(dir.path(), "kill -9 $$");
    assert_eq!((killed.verdict, killed.signal), (GateVerdict::Failed, Some(9)));
    assert_eq!(killed.summary, "killed by signal 9, without output");
    assert_eq!(run_in(dir.path(), "true").summary, "passed");
    let read = run_in(dir.path(), "cat; echo end");
    assert_eq!(read.summary, "end", "stdin is empty");
}

#[test]
fn the_summary_names_the_failing_tests() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = "running 3 tests\ntest a::adds ... FAILED\ntest b::keeps ... ok\ntest c::splits ... FAILED\n\n\
        failures:\n    a::adds\n    c::splits\n\n\
        test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\nerror: test failed\n";
    write(&dir.path().join("output"), output);
    assert_eq!(run_in(dir.path(), "cat output; exit 101").summary, "exit status 101: 2 failed: a::adds, c::splits");
    write(&dir.path().join("output"), "test result: ok. 41 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n");
    assert_eq!(run_in(dir.path(), "cat output").summary, "41 passed");
}

#[test]
fn secrets_are_redacted_except_in_the_output_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let path = dir.path().join("output.txt");
    let command = format!("echo token {secret}; exit 1");
    let cancel = CancelHandle::default();
    let gate = GateRun { output_file: Some(path.clone()), ..gate(&command, dir.path(), &cancel) };
    let outcome = run(&gate).expect("an outcome");
    assert!(!outcome.summary.contains(&secret) && !outcome.output_tail.contains(&secret), "{outcome:?}");
    assert_eq!(read(&path), format!("token {secret}\n"));
    assert_eq!(path.metadata().expect("metadata").permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_flood_of_output_is_bounded() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("output.txt");
    let cancel = CancelHandle::default();
    let command = "echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last";
    let outcome = run(&GateRun { output_file: Some(path.clone()), ..gate(command, dir.path(), &cancel) });
    let outcome = outcome.expect("an outcome");
    assert!(outcome.passed() && outcome.summary == "last" && outcome.output_tail.len() <= MAX_TAIL_BYTES);
    let stored = read(&path);
    assert!(stored.starts_with("first\nxxx") && stored.ends_with("xxx\nlast\n") && stored.len() < 8_400_000);
}

#[test]
fn a_gate_that_takes_too_long_is_stopped_and_does_not_run_again() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    let cancel = CancelHandle::default();
    let gate = GateRun { timeout: Some(Duration::ZERO), ..gate("exec sleep 1000", workspace.dir(), &cancel) };
    let bound = run_bound(&workspace, &gate, None).expect("an outcome");
    assert!(
        bound.outcome.verdict == GateVerdict::CannotRun { why: CannotRun::TimedOut } && bound.outcome.attempts == 1
    );
    assert_eq!(bound.outcome.summary, "timed out, without output");
}

#[test]
fn a_gate_that_ignores_the_request_to_exit_is_killed() {
    let dir = tempfile::tempdir().expect("a directory");
    let made = std::process::Command::new("mkfifo").arg(dir.path().join("ready")).status().expect("mkfifo");
    assert!(made.success());
    let cancel = CancelHandle::default();
    let canceller = std::thread::spawn({
        let (cancel, ready) = (cancel.clone(), dir.path().join("ready"));
        move || {
            // Opened once the gate has set its trap.
            std::fs::File::open(ready).and_then(|mut file| file.read(&mut [0])).expect("a sign");
            cancel.cancel();
        }
    });
    let command = "trap '' TERM; echo > ready; while :; do sleep 1; done";
    let grace = Duration::from_millis(50);
    let exit = run_command(&CommandRun {
        command,
        dir: dir.path(),
        env: &None,
        timeout: None,
        grace,
        cancel: &cancel,
        marker: None,
    });
    canceller.join().expect("its end");
    let outcome = outcome(&exit.expect("an exit"));
    assert!(outcome.verdict == GateVerdict::Cancelled && outcome.signal == Some(9), "{outcome:?}");
    assert_eq!(outcome.summary, "cancelled, without output");
}

/// A process that has ended may wait for its parent.
#[cfg(target_os = "linux")]
fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|state| !state.is_empty() && !state.starts_with('Z'))
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_that_left_the_group_and_ignores_signals_does_not_survive() {
    let dir = tempfile::tempdir().expect("a directory");
    let command =
        "(setsid sh -c 'trap \"\" TERM HUP; echo $$ > daemon; exec sleep 1000' > /dev/null 2>&1 < /dev/null &)
        while [ ! -s daemon ]; do :; done; echo done";
    // Another gate at the same time must not be touched.
    let cancel = CancelHandle::default();
    let made = std::process::Command::new("mkfifo").arg(dir.path().join("go")).status().expect("mkfifo");
    assert!(made.success());
    let other = std::thread::spawn({
        let path = dir.path().to_owned();
        move || run_in(&path, "cat go")
    });
    let outcome = run(&gate(command, dir.path(), &cancel)).expect("an outcome");
    assert!(outcome.passed() && outcome.summary == "done", "{outcome:?}");
    let daemon = read(dir.path().join("daemon"));
    assert!(!is_running(&daemon), "process {daemon} survived");
    std::fs::write(dir.path().join("go"), "untouched\n").expect("a sign");
    let other = other.join().expect("its end");
    assert!(other.passed() && other.summary == "untouched", "{other:?}");
}

#[test]
fn a_gate_that_changes_the_tree_does_not_pass() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    let bound = run_in_workspace(&workspace, "echo formatted > a.txt; rm b.txt; echo new > new.txt");
    let files = ["a.txt", "b.txt"].map(str::to_owned).to_vec();
    assert_eq!((bound.outcome.verdict, bound.outcome.attempts), (GateVerdict::TreeMoved { files }, 1));
    assert_eq!(bound.outcome.summary, "the gate changed a.txt, b.txt");
    assert_eq!((&bound.tree, &bound.tree_after), (workspace.base(), workspace.base()));
    assert_eq!(workspace.snapshot("after").expect("a tree"), bound.tree, "the worktree is as it was");
}

#[test]
fn new_files_of_a_gate_go_in_a_worktree_and_stay_in_place() {
    let project = Project::new();
    let command = "echo covered > coverage.txt; echo built > build.log; echo ok";
    let workspace = project.create(WorkspaceMode::Worktree);
    let bound = run_in_workspace(&workspace, command);
    assert!(bound.outcome.passed() && bound.tree == bound.tree_after, "{bound:?}");
    assert!(!workspace.dir().join("coverage.txt").exists());
    assert_eq!(read(workspace.dir().join("build.log")), "built\n", "ignored files stay, for incremental builds");
    let workspace = project.create(WorkspaceMode::InPlace);
    let bound = run_in_workspace(&workspace, command);
    assert!(bound.outcome.passed() && bound.tree != bound.tree_after, "{bound:?}");
    assert_eq!(read(project.project_dir.join("coverage.txt")), "covered\n");
}

#[test]
fn an_outcome_is_about_the_expected_tree_if_only_new_files_came() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::InPlace);
    let about = |command: &str| {
        let cancel = CancelHandle::default();
        let gate = gate(command, workspace.dir(), &cancel);
        run_bound(&workspace, &gate, Some(workspace.base())).expect("an outcome")
    };
    let first = about("echo covered > coverage.txt");
    assert!(first.outcome.passed() && first.tree == *workspace.base() && first.tree_after != first.tree, "{first:?}");
    let second = about("test -f coverage.txt");
    assert!(second.outcome.passed() && second.tree == *workspace.base(), "{second:?}");
    project.write("a.txt", "edited by a person");
    let third = about("true");
    assert!(third.outcome.passed() && third.tree == third.tree_after && third.tree != *workspace.base(), "{third:?}");
}

#[test]
fn a_gate_that_cannot_run_has_not_failed() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    for (command, why) in [
        ("belay-no-such-command --all", CannotRun::NotFound),
        ("./no-such-script", CannotRun::NotFound),
        ("./a.txt", CannotRun::NotExecutable),
    ] {
        let outcome = run_in_workspace(&workspace, command).outcome;
        assert_eq!(outcome.verdict, GateVerdict::CannotRun { why }, "{outcome:?}");
    }
    // The person's command ran, and one of its tests did not find something.
    let failed = run_in_workspace(&workspace, "belay-no-such-command; exit 1").outcome;
    assert_eq!(failed.verdict, GateVerdict::Failed, "{failed:?}");
    let moved = run_in_workspace(&workspace, "echo x > a.txt; belay-no-such-command").outcome;
    assert_eq!(moved.verdict, GateVerdict::TreeMoved { files: vec!["a.txt".to_owned()] }, "{moved:?}");
}

#[test]
fn a_verdict_is_written_beside_the_other_fields() {
    let dir = tempfile::tempdir().expect("a directory");
    let outcome = run_in(dir.path(), "belay-no-such-command");
    let json = serde_json::to_value(&outcome).expect("JSON");
    assert_eq!((&json["verdict"], &json["why"]), (&"cannot_run".into(), &"not_found".into()), "{json}");
    assert_eq!(serde_json::from_value::<GateOutcome>(json).expect("an outcome"), outcome);
}

#[test]
fn a_red_gate_runs_once_more_and_passes_as_flaky() {
    let project = Project::new();
    let workspace = project.create(WorkspaceMode::Worktree);
    let flaky = run_in_workspace(
        &workspace,
        "echo run >> runs.log; test $(wc -l < runs.log) = 2 || { echo 'race lost'; exit 1; }",
    );
    assert!(flaky.outcome.passed() && flaky.outcome.flaky && flaky.outcome.attempts == 2, "{flaky:?}");
    assert_eq!(flaky.outcome.summary, "flaky: passed in the second run; the first: exit status 1: race lost");
    let red = run_in_workspace(&workspace, "echo run >> red.log; exit 1");
    assert!(!red.outcome.passed() && !red.outcome.flaky && red.outcome.attempts == 2, "{red:?}");
    assert_eq!(read(workspace.dir().join("red.log")), "run\nrun\n");
    run_in_workspace(&workspace, "echo run >> green.log");
    assert_eq!(read(workspace.dir().join("green.log")), "run\n", "a green gate runs once");
}

#[test]
fn a_dir_without_git_has_gates_too() {
    let project = Project::without_git();
    project.write("a.txt", "a");
    let workspace = project.create(WorkspaceMode::InPlace);
    let bound = run_in_workspace(&workspace, "test -f a.txt");
    assert!(bound.outcome.passed() && bound.tree == *workspace.base());
    assert_eq!(run_in_workspace(&workspace, "echo b > a.txt").outcome.summary, "the gate changed a.txt");
}

#[test]
fn a_gate_that_cannot_run_is_an_error_and_not_red() {
    let error = run(&gate("true", Path::new("/nowhere"), &CancelHandle::default())).expect_err("no directory");
    assert_eq!(error.to_string(), "cannot run `true` in /nowhere");
}

#[test]
fn gates_do_not_touch_what_other_threads_start() {
    let dir = tempfile::tempdir().expect("a directory");
    // With a PATH of its own, a child is forked before its program is looked up, and has all our files until then.
    let child = || std::process::Command::new("true").env("PATH", std::env::var_os("PATH").expect("PATH")).status();
    std::thread::scope(|scope| {
        let others: Vec<_> =
            (0..6).map(|_| scope.spawn(|| (0..150).all(|_| child().expect("a status").success()))).collect();
        for _ in 0..6 {
            scope.spawn(|| (0..15).for_each(|_| assert!(run_in(dir.path(), "true").passed())));
        }
        assert!(others.into_iter().all(|other| other.join().expect("its end")));
    });
}
