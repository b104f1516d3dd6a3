//! `belay exec`: one bounded run with one result, and nothing left behind.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;

use rustix::process::{Pid, Signal, kill_process};

use crate::run::{Leaves, with_program};
use crate::world::{World, file_says};

/// Whether the process with the number in a file has exited. Its parent may not have asked for its status yet.
fn is_gone(world: &World, file: &str) -> bool {
    let pid = file_says(&world.path("home/code/app").join(file), |text| text.ends_with('\n'));
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.trim()));
    status.map_or(true, |status| status.contains("State:\tZ"))
}

#[test]
fn the_prompt_is_stdin_and_the_answer_is_stdout() {
    let (world, _) = with_program("thing", r#"echo "asked: $(cat)"; echo noise >&2; echo "args: $*""#);
    let _leaves = Leaves(&world);
    let ran = world.run(&["exec", "--quiet", "thing", "Fix the tests", "--", "-x", "two words"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "asked: Fix the tests\nargs: -x two words\n"), "{}", ran.err);
    let file = world.write("task.md", "From a file.").display().to_string();
    let ran = world.run(&["exec", "--quiet", "thing", "--file", &file]);
    assert_eq!(ran.out, "asked: From a file.\nargs:\n");
    let ran = world.run_with(&["exec", "--quiet", "thing", "-"], b"From stdin.");
    assert_eq!(ran.out, "asked: From stdin.\nargs:\n");
}

#[test]
fn a_program_reads_events_and_one_result() {
    let (world, _) = with_program("thing", "cat >/dev/null; echo done; exit 3");
    let _leaves = Leaves(&world);
    let ran = world.run(&["exec", "--json", "thing", "Go"]);
    let lines: Vec<serde_json::Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["type"], "text_delta");
    let result = &lines.last().unwrap()["result"];
    assert_eq!((result["result"].as_str(), result["status"].as_i64()), (Some("crashed"), Some(3)), "{result}");
    assert_eq!((result["answer"].as_str(), ran.code), (Some("done"), Some(1)));
    assert!(result["session"].as_str().is_some_and(|session| session.starts_with("thing:")), "{result}");
}

#[test]
fn a_run_is_a_supervised_session_in_its_own_directory() {
    let (world, _) = with_program("thing", "pwd");
    let _leaves = Leaves(&world);
    let dir = world.path("elsewhere");
    std::fs::create_dir_all(&dir).unwrap();
    let dir = dir.canonicalize().unwrap().display().to_string();
    let ran = world.run(&["exec", "--quiet", "thing", "--dir", &dir, "Go"]);
    assert_eq!(ran.out.trim(), dir, "{ran:?}");
    let sessions = world.run(&["sessions", "--json"]);
    assert!(
        sessions.out.contains(r#""agent":"thing""#) && sessions.out.contains(r#""state":"ended""#),
        "{}",
        sessions.out
    );
}

#[test]
fn bad_input_is_refused_before_anything_starts() {
    let (world, _) = with_program("thing", "echo started > started");
    for (args, expected) in [
        (&["exec", "thing", " "][..], "the prompt is empty"),
        (&["exec", "thing", "Go", "--dir", "nowhere"], "cannot access the directory nowhere"),
        (&["exec", "thing", "--file", "nowhere.md"], "cannot read the prompt nowhere.md"),
        (&["exec", "missing", "Go"], "missing is not in PATH"),
        (&["exec", "thing", "Go", "--access", "read-only"], "thing does not support --access"),
        (&["exec", "thing", "Go", "--model", "best"], "thing does not support --model"),
        (&["exec", "claude", "Go", "--resume=--yolo"], "a session that begins with a dash"),
        (&["exec", "gemini", "Go", "--schema", "/dev/null"], "schema"),
    ] {
        let ran = world.run(args);
        assert!(ran.code != Some(0) && ran.err.contains(expected), "{args:?}: {}", ran.err);
    }
    let schema = world.write("schema.json", "{").display().to_string();
    let ran = world.run(&["exec", "thing", "Go", "--schema", &schema]);
    assert!(ran.err.contains("is not JSON"), "{}", ran.err);
    assert!(!world.path("home/code/app/started").exists());
}

/// Ignores every request to exit, and so does the child that left its process group, session and parent.
const STUBBORN: &str = r#"trap '' TERM HUP INT
setsid sh -c "sh -c 'trap \"\" TERM HUP INT; echo \$\$ > orphan; exec tail -f /dev/null' &"
echo $$ > leader
while [ ! -s orphan ]; do :; done
echo ready
tail -f /dev/null & wait; wait"#;

#[test]
fn cancelling_leaves_no_process_behind_however_stubborn() {
    let (world, _) = with_program("thing", STUBBORN);
    let _leaves = Leaves(&world);
    let mut command = world.command(["exec", "--json", "thing", "Go"]);
    let mut child = command.process_group(0).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("ready"));
    assert!(!is_gone(&world, "leader") && !is_gone(&world, "orphan"));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let result: serde_json::Value = serde_json::from_str(&lines.last().unwrap().unwrap()).unwrap();
    assert_eq!(result["result"]["result"], "cancelled");
    assert_eq!(child.wait().unwrap().code(), Some(6));
    assert!(is_gone(&world, "leader") && is_gone(&world, "orphan"));
}

#[test]
fn a_timeout_ends_the_run() {
    let (world, _) = with_program("thing", "echo working; exec tail -f /dev/null");
    let _leaves = Leaves(&world);
    let ran = world.run(&["exec", "--json", "--timeout", "1s", "thing", "Go"]);
    let result: serde_json::Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    assert_eq!((result["result"]["result"].as_str(), ran.code), (Some("timed_out"), Some(1)));
    assert_eq!(result["result"]["answer"], "working");
}

#[test]
fn what_an_agent_leaves_running_ends_with_it() {
    let (world, _) = with_program("thing", "tail -f /dev/null & echo $! > server; echo done");
    let _leaves = Leaves(&world);
    let ran = world.run(&["exec", "--quiet", "thing", "Go"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "done\n"));
    assert!(is_gone(&world, "server"));
}
