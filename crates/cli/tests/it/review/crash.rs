//! The resident process is killed, alone or with what it started. No finished step runs twice, and no half of a step
//! counts.

use std::collections::BTreeSet;
use std::io::Write;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::project::{
    APPROVES, APPROVES_LATER, BUILDS, HANGS, Project, kill, processes_with, wait_for_exit, wait_for_file,
};
use crate::world::file_says;

/// The process of the agent that runs: `belay exec`.
fn exec_pid(project: &Project, id: &str) -> u32 {
    let records = project.journal(id, |_| true);
    let attempt = records.last().unwrap()["attempt"].as_u64().unwrap();
    let path = project.task_dir(id).join(format!("runs/{attempt}.json"));
    let process: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    u32::try_from(process["pid"].as_u64().unwrap()).unwrap()
}

/// Kills the resident process, `belay exec` and the builder, as a reboot does: none of them notices the end of another.
fn kill_everything(project: &Project, id: &str) {
    let builder: u32 = std::fs::read_to_string(project.out().join("pid")).unwrap().trim().parse().unwrap();
    let pids = [project.resident().unwrap(), exec_pid(project, id), builder];
    for pid in pids {
        kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::STOP).unwrap();
    }
    pids.into_iter().for_each(kill);
}

/// Edits a file and hangs in its first run, and builds in the second one.
fn half_then_whole() -> String {
    format!(
        "[ $n = 1 ] || {{ {BUILDS}; exit; }}\necho $$ > \"$OUT/pid\"; echo new > half.txt; echo half > notes.txt\n{HANGS}"
    )
}

#[test]
fn a_build_survives_the_resident_process() {
    let project = Project::new();
    let fifo = project.out().join("go");
    assert!(project.world.program("mkfifo").arg(&fifo).status().unwrap().success());
    let builder = project.program("builder", &format!("read -r line < \"$OUT/go\"; {BUILDS}"));
    let reviewer = project.program("reviewer", APPROVES);
    let id = project.file(&["--builder", &builder, "--reviewer", &reviewer]);
    project.logged("builder start");
    project.kill_resident();
    project.start_resident();
    std::fs::write(&fifo, "go\n").unwrap();
    let ended = project.watch(&id);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.runs("builder"), 1);
    project.ok(&["diff", &id]);
    let records = project.journal(&id, |_| true);
    assert!(records.iter().all(|record| record["record"] != "interrupted"), "{records:?}");
}

#[test]
fn a_build_that_ends_without_the_resident_process_counts() {
    let project = Project::new();
    let builder = project.program("builder", &format!("kill -KILL $(cat \"$OUT/resident\"); {BUILDS}"));
    let reviewer = project.program("reviewer", APPROVES);
    project.ok(&["queue", "pause"]);
    let id = project.file(&["--builder", &builder, "--reviewer", &reviewer]);
    std::fs::write(project.out().join("resident"), project.resident().unwrap().to_string()).unwrap();
    project.ok(&["queue", "resume"]);
    project.logged("builder end");
    let ended = project.watch(&id);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.runs("builder"), 1);
}

#[test]
fn a_build_that_died_in_a_worktree_is_undone() {
    let project = Project::new();
    let builder = project.program("builder", &half_then_whole());
    let reviewer = project.program("reviewer", APPROVES);
    let id = project.file(&["--builder", &builder, "--reviewer", &reviewer]);
    project.journal(&id, |records| records.iter().any(|record| record["outcome"]["outcome"] == "prepared"));
    let worktree = project.show(&id)["dir"].clone();
    wait_for_file(&std::path::Path::new(worktree.as_str().unwrap()).join("notes.txt"), "half\n");
    kill_everything(&project, &id);
    project.start_resident();
    let ended = project.watch(&id);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let diff = project.review(&["diff", &id]).out;
    assert!(diff.contains("+two") && !diff.contains("half"), "{diff}");
    assert!(!project.prompt("builder", 2).contains("stopped half-way"));
    assert_eq!(project.runs("builder"), 2);
}

#[test]
fn a_build_that_died_in_place_is_kept_and_named() {
    let project = Project::new();
    let builder = project.program("builder", &half_then_whole());
    let reviewer = project.program("reviewer", APPROVES);
    let id = project.file(&["--builder", &builder, "--reviewer", &reviewer, "--in-place"]);
    wait_for_file(&project.dir().join("notes.txt"), "half\n");
    kill_everything(&project, &id);
    project.start_resident();
    let ended = project.watch(&id);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!((project.read("half.txt").as_str(), project.read("notes.txt").as_str()), ("new\n", "two\n"));
    assert!(project.prompt("builder", 2).contains("stopped half-way"), "{}", project.prompt("builder", 2));
    assert!(project.review(&["diff", &id]).out.contains("half.txt"), "the reviewer sees them, too");
    assert_eq!(ended.view["rounds"][0]["intervention"], "continues an attempt that stopped half-way");
}

/// Hangs in its first run, with `marker` among the arguments of its child. Later runs tell whether the first one is
/// still there, and go on. `tail` would notice that nobody reads its output anymore.
fn outlives(marker: &str, then: &str) -> String {
    format!(
        "if [ $n = 1 ]; then echo $$ > \"$OUT/first\"; sh -c 'tail -f /dev/null > /dev/null 2>&1; :' {marker}; fi\n\
         grep -q . \"/proc/$(cat \"$OUT/first\")/cmdline\" && echo met >> \"$OUT/log\"\n{then}"
    )
}

#[test]
fn an_agent_without_its_supervisor_does_not_meet_its_successor() {
    let project = Project::new();
    let marker = project.world.path("marker").display().to_string();
    let builder = project.program("builder", &outlives(&marker, BUILDS));
    let id = project.file(&["--builder", &builder, "--accept", "true"]);
    file_says(&project.out().join("first"), |text| text.ends_with('\n'));
    kill(exec_pid(&project, &id));
    let ended = project.watch(&id);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.log(), ["builder start", "builder start", "builder end"]);
    assert_eq!(processes_with(&marker), [0; 0]);
}

#[test]
fn a_gate_without_the_resident_process_does_not_meet_its_successor() {
    let project = Project::new();
    let marker = project.world.path("marker").display().to_string();
    let builder = project.program("builder", BUILDS);
    let gate = project.program("gate", &outlives(&marker, "true"));
    let id = project.file(&["--builder", &builder, "--accept", &format!("{gate} < /dev/null")]);
    file_says(&project.out().join("first"), |text| text.ends_with('\n'));
    project.kill_resident();
    project.start_resident();
    let ended = project.watch(&id);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.log(), ["builder start", "builder end", "gate start", "gate start", "gate end"]);
    assert_eq!(processes_with(&marker), [0; 0]);
}

#[test]
fn an_agent_of_a_cancelled_task_does_not_outlive_a_crash() {
    let project = Project::new();
    let marker = project.world.path("marker").display().to_string();
    let builder = project.program("builder", &outlives(&marker, BUILDS));
    let id = project.file(&["--builder", &builder, "--accept", "true"]);
    file_says(&project.out().join("first"), |text| text.ends_with('\n'));
    // Stopped, so that it does not start a resident process itself.
    let exec = exec_pid(&project, &id);
    let signal = |signal| kill_process(Pid::from_raw(i32::try_from(exec).unwrap()).unwrap(), signal).unwrap();
    signal(Signal::STOP);
    project.kill_resident();
    // As if the process had been killed after it wrote the decision and before it acted on it.
    let mut record = project.journal(&id, |_| true).pop().unwrap();
    record = serde_json::json!({
        "at": record["at"], "record": "decided", "by": "ada", "decision": { "decision": "cancel" },
    });
    let journal = project.task_dir(&id).join("journal.jsonl");
    writeln!(std::fs::File::options().append(true).open(journal).unwrap(), "{record}").unwrap();
    signal(Signal::CONT);
    project.start_resident();
    wait_for_exit(exec);
    assert_eq!(processes_with(&marker), [0; 0]);
    assert_eq!(project.watch(&id).code, Some(6));
}

#[test]
fn a_decision_outlives_a_summary_that_was_not_written() {
    let project = Project::new();
    let builder = project.program("builder", &format!("[ -e \"$OUT/works\" ] || exit 1; {BUILDS}"));
    let ended = project.start(&["--builder", &builder, "--accept", "true"]);
    assert_eq!(ended.code, Some(1));
    let summary = project.task_dir(ended.id()).join("meta.json");
    let (old, written) = (std::fs::read(&summary).unwrap(), summary.metadata().unwrap().modified().unwrap());
    std::fs::write(project.out().join("works"), "").unwrap();
    project.ok(&["queue", "pause"]);
    project.ok(&["retry", ended.id()]);
    // As if the process had been killed between the journal and the summary.
    project.kill_resident();
    std::fs::write(&summary, old).unwrap();
    std::fs::File::options().write(true).open(&summary).unwrap().set_modified(written).unwrap();
    project.start_resident();
    project.ok(&["queue", "resume"]);
    let ended = project.watch(ended.id());
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

/// Runs a task of two rounds and kills the resident process whenever the journal reaches one of these numbers of
/// records.
fn kill_at(points: impl IntoIterator<Item = usize>) {
    let project = Project::new();
    let builder = project.program("builder", "echo \"round $n\" >> notes.txt");
    let reviewer = project.program("reviewer", APPROVES_LATER);
    let gate = project.program("gate", "cat notes.txt") + " < /dev/null";
    let mut pid = project.start_resident();
    let id = project.file(&["--builder", &builder, "--reviewer", &reviewer, "--accept", &gate]);
    for point in points {
        let records = project.journal(&id, |records| records.len() >= point || has_ended(records));
        kill(pid);
        pid = project.start_resident();
        if has_ended(&records) {
            break;
        }
    }
    let ended = project.watch(&id);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let records = project.journal(&id, |_| true);
    // Nobody takes over a gate of a dead process; everything else ran exactly once.
    let log = project.log();
    assert_eq!((project.runs("builder"), project.runs("reviewer")), (2, 3), "{log:?} {records:?}");
    let interrupted = records.iter().filter(|record| record["record"] == "interrupted").count();
    assert!((2..=2 + interrupted).contains(&project.runs("gate")), "{log:?} {records:?}");
    let finished = records.iter().filter(|record| record["record"] == "finished");
    let finished: Vec<String> = finished.map(|record| record["step"].to_string()).collect();
    assert_eq!((finished.len(), finished.iter().collect::<BTreeSet<_>>().len()), (8, 8), "{records:?}");
    project.ok(&["land", &id]);
    assert_eq!(project.read("notes.txt"), "one\nround 1\nround 2\n");
}

/// The final review has approved the work.
fn has_ended(records: &[Value]) -> bool {
    records.last().is_some_and(|last| last["record"] == "finished" && last["step"]["kind"] == "final")
}

#[test]
fn a_task_survives_kills_between_its_records() {
    kill_at((1..).step_by(5));
}

/// Takes a minute: `cargo xtask soak reviews`.
mod soak {
    use super::*;

    /// Every record of a task of two rounds, each in a task of its own, and then several of them in one task.
    #[test]
    fn a_task_survives_a_kill_at_every_record() {
        for point in 1..=16 {
            kill_at([point]);
        }
        kill_at((1..).step_by(3));
    }
}
