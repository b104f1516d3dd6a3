//! Tasks outlive the resident process, and the resident process does not leave before them.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::project::{APPROVES, BUILDS, HANGS, Project, wait_for_exit};

#[test]
fn a_stopped_task_continues_after_the_next_start() {
    let project = Project::new();
    let builder =
        project.program("builder", &format!("[ $n = 1 ] || {{ {BUILDS}; exit; }}\necho half > notes.txt; {HANGS}"));
    let reviewer = project.program("reviewer", APPROVES);
    let id = project.file(&["--builder", &builder, "--reviewer", &reviewer]);
    project.logged("builder start");
    let stopped = project.world.run(&["stop"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    assert_eq!(project.resident(), None);
    let view = project.show(&id);
    assert_eq!((view["phase"].as_str(), &view["running"]), (Some("building"), &serde_json::Value::Null), "{view}");
    let ended = project.watch(&id);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.runs("builder"), 2);
    assert!(!project.review(&["diff", &id]).out.contains("half"));
}

#[test]
fn the_resident_process_waits_for_its_tasks() {
    let config = "[hooks]\nidle_exit = \"1s\"\n";
    let (busy, idle) = (Project::with_config(config), Project::with_config(config));
    for project in [&busy, &idle] {
        // Nothing runs, so that nothing but the task keeps the process.
        project.ok(&["queue", "pause"]);
    }
    let id = busy.file(&["--builder", &busy.program("builder", BUILDS), "--accept", "true"]);
    let pid = busy.resident().unwrap();
    if let Some(pid) = idle.resident() {
        wait_for_exit(pid);
    }
    assert_eq!(busy.resident(), Some(pid));
    busy.ok(&["queue", "resume"]);
    assert_eq!(busy.watch(&id).code, Some(0));
    wait_for_exit(pid);
}

#[test]
fn a_task_goes_on_after_belay_was_replaced() {
    let project = Project::new();
    let belay = project.world.path("bin/belay");
    std::fs::create_dir_all(belay.parent().unwrap()).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_belay"), &belay).unwrap();
    let mut serve = project.world.program(belay.to_str().unwrap());
    let mut serve = serve
        .args(["serve", "--json", "--set", "serve.listen=127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    BufReader::new(serve.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    // As an upgrade does: a new file takes the name of the one that runs.
    let new = belay.with_extension("new");
    std::fs::copy(env!("CARGO_BIN_EXE_belay"), &new).unwrap();
    std::fs::rename(&new, &belay).unwrap();
    let builder = project.program("builder", BUILDS);
    let ended = project.start(&["--builder", &builder, "--accept", "true"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.resident(), Some(serve.id()), "the old process ran it");
    project.ok(&["land", ended.id()]);
    assert!(project.world.run(&["stop"]).code == Some(0));
    serve.wait().unwrap();
}
