//! `belay run`: arguments, terminal, signals and exit status pass through.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::Stdio;

use belay_scripted_model::{Script, ScriptedModel};
use rustix::process::{Pid, Signal, kill_process};

use crate::resident::Serve;
use crate::world::{World, file_says, within};

/// A program of the given name in its own directory, and a test environment with it in `PATH`.
pub(crate) fn with_program(name: &str, script: &str) -> (World, PathBuf) {
    let world = World::new();
    let first = if script.starts_with("#!") { "" } else { "#!/bin/sh\n" };
    world.write(&format!("bin/{name}"), &format!("{first}{script}\n"));
    let program = world.path(&format!("bin/{name}"));
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    (world.var("PATH", &path).var("BELAY_LISTEN", "127.0.0.1:0"), program)
}

/// A minimal client.
pub(crate) const ASK: &str = r#"#!/bin/bash
rest=${OPENAI_BASE_URL#http://} body='{"model":"m","messages":[{"role":"user","content":"hi"}]}'
host=${rest%%/*}
exec 3<>"/dev/tcp/${host%%:*}/${host##*:}"
printf 'POST /%s/chat/completions HTTP/1.1\r\nhost: %s\r\nconnection: close\r\n' "${rest#*/}" "$host" >&3
printf 'content-type: application/json\r\ncontent-length: %s\r\n\r\n%s' "${#body}" "$body" >&3
cat <&3
"#;

/// Stops the resident process that a run has started.
pub(crate) struct Leaves<'w>(pub(crate) &'w World);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        let _ = self.0.command(["stop"]).output();
    }
}

#[test]
fn arguments_input_output_and_status_pass_through() {
    let (world, _) = with_program("thing", r#"printf '%s|' "$@"; cat; echo talk >&2; exit 42"#);
    let _leaves = Leaves(&world);
    let ran = world.run_with(&["run", "--quiet", "thing", "--budget", "-p", "two words", ""], b"from stdin");
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (Some(42), "--budget|-p|two words||from stdin", "talk\n")
    );
    for signal in [Signal::KILL, Signal::TERM, Signal::SEGV] {
        let script = format!("kill -{} $$", signal.as_raw());
        let status = world.command(["run", "--quiet", "sh", "-c", &script]).status().unwrap();
        assert_eq!((status.signal(), status.core_dumped()), (Some(signal.as_raw()), false));
    }
    let started = world.run(&["start", "--quiet", "true"]);
    assert_eq!(started.code, Some(0), "`start` is another name for it");
}

#[test]
fn a_signal_for_us_is_for_the_program() {
    let waits = r#"tail -f /dev/null &
for signal in HUP INT QUIT USR1 USR2 TERM; do trap "kill $!; echo $signal; exit 7" $signal; done
echo ready
wait"#;
    let (world, _) = with_program("thing", waits);
    let _leaves = Leaves(&world);
    let signals = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::USR1, Signal::USR2, Signal::TERM];
    for (signal, name) in signals.into_iter().zip(["HUP", "INT", "QUIT", "USR1", "USR2", "TERM"]) {
        let mut command = world.command(["run", "--quiet", "thing"]);
        // Detached from the terminal of the test run.
        let mut child = command.process_group(0).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), name);
        assert_eq!(child.wait().unwrap().code(), Some(7), "{name}");
    }
}

#[test]
fn what_is_ignored_stays_ignored() {
    let (world, _) =
        with_program("thing", "tail -f /dev/null & trap 'kill $!; echo TERM; exit 7' TERM\necho ready\nwait");
    let _leaves = Leaves(&world);
    let mut nohup = world.program("sh");
    nohup.args(["-c", "trap '' HUP; exec \"$0\" run --quiet thing", env!("CARGO_BIN_EXE_belay")]);
    let mut child = nohup.process_group(0).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    for signal in [Signal::HUP, Signal::TERM] {
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    assert_eq!(within("its last word", move || lines.next()).unwrap().unwrap(), "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

#[test]
fn it_is_one_session_with_its_files_and_its_end() {
    let (world, _) = with_program("thing", "echo new > made.txt");
    let _leaves = Leaves(&world);
    let ran = world.run(&["run", "thing"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("Belay supervises thing.") && ran.err.contains("http://127.0.0.1:"), "{ran:?}");
    let sessions = world.run(&["sessions", "--json"]).json();
    let session = &sessions["sessions"][0];
    assert_eq!((session["agent"].as_str(), session["state"].as_str()), (Some("thing"), Some("ended")), "{sessions}");
    assert_eq!(session["edits"], 1, "{sessions}");
}

#[test]
fn requests_go_where_the_user_wanted_them_to_go() {
    let (world, _) = with_program("thing", ASK);
    let model = ScriptedModel::start(Script::new().without_tools().text("Hello.")).unwrap();
    let world = world.var("OPENAI_BASE_URL", format!("{}/v1", model.url()));
    let _leaves = Leaves(&world);
    let ran = world.run(&["run", "--quiet", "thing"]);
    assert!(ran.out.contains("Hello."), "{ran:?}");
    assert_eq!(model.requests()[0].path, "/v1/chat/completions");
    let sessions = world.run(&["sessions", "--json"]).json();
    let [session] = sessions["sessions"].as_array().unwrap().as_slice() else { panic!("one session: {sessions}") };
    assert_eq!(session["state"], "ended", "though its last answer came with its end: {session}");
}

#[test]
fn a_budget_is_shown_and_raised_everywhere() {
    let (world, _) = with_program("thing", "true");
    let _leaves = Leaves(&world);
    world.run(&["run", "--quiet", "--budget", "2.50usd,500k", "thing"]);
    let name = world.run(&["sessions", "--json"]).json()["sessions"][0]["session"].as_str().unwrap().to_owned();
    let shown = world.run(&["budget", &name, "--json"]).json();
    assert_eq!(shown["sessions"][0]["budget"], serde_json::json!({ "tokens": 500_000, "cost_micros": 2_500_000 }));
    let raised = world.run(&["budget", &name, "1M"]);
    assert!(raised.out.contains("1M") || raised.out.contains("1.0M") || raised.out.contains("1,000,000"), "{raised:?}");
    assert!(raised.err.contains("now has a budget of 1.0M tokens."), "{raised:?}");
    world.run(&["config", "set", "detect.budget.session_usd", "5"]);
    let limited = world.run(&["budget"]);
    assert!(limited.err.contains("Configured limits: $5.00 per session."), "{limited:?}");
    assert!(world.run(&["sessions"]).out.contains(" of "), "{}", world.run(&["sessions"]).out);
    assert!(world.run(&["show", &name]).out.contains("budget"), "{}", world.run(&["show", &name]).out);
    assert_eq!(world.run(&["show", &name, "--json"]).json()["session"]["budget"]["tokens"], 1_000_000);
}

#[test]
fn a_budget_in_dollars_stops_a_model_without_a_price() {
    let asks = ASK.replace("exec 3<>", "for n in 1 2 3; do exec 3<>").replace("cat <&3", "cat <&3; echo; done");
    let (world, _) = with_program("thing", &asks);
    let model = ScriptedModel::start(Script::new().without_tools().text("One.").text("Two.").text("Three.")).unwrap();
    let world = world.var("OPENAI_BASE_URL", format!("{}/v1", model.url()));
    let _leaves = Leaves(&world);
    world.run(&["config", "set", "proxy.hold_timeout", "0s"]);
    let ran = world.run(&["run", "--quiet", "--budget", "0.000001usd", "thing", "--model", "m"]);
    assert_eq!(model.turns().len(), 1, "the second request is held back: {ran:?}");
    assert_eq!(ran.err.matches("m has no price; the budget assumes $15").count(), 2, "{ran:?}");
    let session = &world.run(&["sessions", "--json"]).json()["sessions"][0];
    assert_eq!((session["state"].as_str(), session["unpriced_model"].as_str()), (Some("paused"), Some("m")));
    assert!(session["unpriced_micros"].as_u64() > Some(0) && session["cost_micros"] == 0, "{session}");
    let listed = world.run(&["sessions"]).out;
    assert!(listed.contains("~$0.02 of <$0.01"), "{listed}");
    let doctor = world.run(&["doctor"]).out;
    assert!(doctor.contains("no price for m;"), "{doctor}");
}

/// Sends two requests of one conversation, and waits for input in between.
const ASK_TWICE: &str = r#"#!/bin/bash
rest=${OPENAI_BASE_URL#http://}
host=${rest%%/*}
ask() {
  exec 3<>"/dev/tcp/${host%%:*}/${host##*:}"
  printf 'POST /%s/chat/completions HTTP/1.1\r\nhost: %s\r\nconnection: close\r\n' "${rest#*/}" "$host" >&3
  printf 'content-type: application/json\r\ncontent-length: %s\r\n\r\n%s' "${#1}" "$1" >&3
  cat <&3
  echo
}
said='{"role":"user","content":"hi"}'
ask '{"model":"m","messages":['"$said"']}'
echo asked
read -r go
ask '{"model":"m","messages":['"$said"',{"role":"assistant","content":"One."},{"role":"user","content":"more"}]}'
"#;

/// Its process, and where it listens.
fn resident(world: &World) -> Option<(i32, String)> {
    let status = world.run(&["status", "--json"]).json();
    let pid = status["resident"]["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok())?;
    Some((pid, status["resident"]["url"].as_str()?.to_owned()))
}

#[test]
fn a_resident_process_that_is_killed_is_started_again_and_the_run_goes_on() {
    let (world, _) = with_program("thing", ASK_TWICE);
    let model = ScriptedModel::start(Script::new().without_tools().text("One.").text("Two.")).unwrap();
    let world = world.var("OPENAI_BASE_URL", format!("{}/v1", model.url()));
    let _leaves = Leaves(&world);
    let mut command = world.command(["run", "--budget", "500k", "thing"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let (asked, mut lines) = within("the first answer", move || (lines.any(|line| line == "asked"), lines));
    assert!(asked, "{:?}", child.wait_with_output());
    let mut follow = world.command(["events", "tail", "-f", "--json", "--kind", "model_answered"]).spawn().unwrap();
    let mut answers = BufReader::new(follow.stdout.take().unwrap()).lines();
    within("the first answer is known", move || answers.next()).unwrap().unwrap();
    follow.kill().unwrap();
    follow.wait().unwrap();
    let (first, url) = resident(&world).unwrap();
    kill_process(Pid::from_raw(first).unwrap(), Signal::KILL).unwrap();
    file_says(&world.log(), |log| {
        log.lines().filter(|line| line.contains("listening") && line.contains(&url)).count() == 2
    });
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert!(within("the second answer", move || lines.any(|line| line.contains("Two."))));
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert!(!String::from_utf8_lossy(&ended.stderr).contains("Warning"), "nobody is bothered: {ended:?}");
    assert_eq!(model.turns().len(), 2);
    assert!(resident(&world).is_some_and(|(second, _)| second != first));
    let sessions = world.run(&["sessions", "--json"]).json();
    let [session] = sessions["sessions"].as_array().unwrap().as_slice() else { panic!("one session: {sessions}") };
    assert_eq!((session["human_turns"].as_u64(), session["state"].as_str()), (Some(2), Some("ended")), "{session}");
    assert_eq!(session["budget"]["tokens"], 500_000, "{session}");
}

#[test]
fn a_resident_process_that_cannot_be_started_again_is_told_of() {
    let (world, _) = with_program("thing", "echo ready\nread -r go");
    let _leaves = Leaves(&world);
    // A copy of Belay that can be deleted while it runs.
    let belay = world.path("bin/belay");
    std::fs::hard_link(env!("CARGO_BIN_EXE_belay"), &belay)
        .or_else(|_| std::fs::copy(env!("CARGO_BIN_EXE_belay"), &belay).map(drop))
        .unwrap();
    let mut command = world.program(belay.to_str().unwrap());
    let mut child = command.args(["run", "--quiet", "thing"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().as_deref(), Some("ready"));
    let (pid, _) = resident(&world).unwrap();
    std::fs::remove_file(&belay).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let mut warnings = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let (shown, hint) = within("a warning", move || (warnings.next().unwrap(), warnings.next().unwrap()));
    assert!(
        shown.contains(&format!("cannot restart the resident process: {}: No such file", belay.display())),
        "{shown}"
    );
    assert!(hint.contains("belay serve"), "{hint}");
    assert!(shown.contains("Belay keeps trying"), "{shown}");
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert!(child.wait().unwrap().success(), "the program is left alone");
}

/// A run of [`ASK_TWICE`] that has had its first answer.
struct AskedOnce {
    child: std::process::Child,
    lines: Box<dyn Iterator<Item = String> + Send>,
}

impl AskedOnce {
    fn start(world: &World) -> Self {
        let mut command = world.command(["run", "--quiet", "thing"]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let (asked, lines) = within("the first answer", move || (lines.any(|line| line == "asked"), lines));
        assert!(asked, "{:?}", child.wait_with_output());
        Self { child, lines: Box::new(lines) }
    }

    fn expect_second_answer(self) -> std::process::Child {
        let Self { mut child, mut lines } = self;
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        assert!(within("the second answer", move || lines.any(|line| line.contains("Two."))));
        child
    }
}

/// A world in which `thing` asks a scripted model twice.
fn asking_twice() -> (World, ScriptedModel) {
    let (world, _) = with_program("thing", ASK_TWICE);
    let model = ScriptedModel::start(Script::new().without_tools().text("One.").text("Two.")).unwrap();
    (world.var("OPENAI_BASE_URL", format!("{}/v1", model.url())), model)
}

/// Waits until a resident process has started to listen at this URL for the `count`-th time.
fn listens(world: &World, url: &str, count: usize) {
    file_says(&world.log(), |log| {
        log.lines().filter(|line| line.contains("listening") && line.contains(url)).count() >= count
    });
}

#[test]
fn a_run_outlives_any_number_of_resident_processes() {
    let (world, _model) = asking_twice();
    let _leaves = Leaves(&world);
    let run = AskedOnce::start(&world);
    for count in 2..=6 {
        let (pid, url) = resident(&world).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        listens(&world, &url, count);
    }
    assert!(run.expect_second_answer().wait().unwrap().success());
}

#[test]
fn a_resident_process_that_hangs_is_replaced() {
    let (world, _model) = asking_twice();
    let _leaves = Leaves(&world);
    let run = AskedOnce::start(&world);
    let (first, url) = resident(&world).unwrap();
    kill_process(Pid::from_raw(first).unwrap(), Signal::STOP).unwrap();
    listens(&world, &url, 2);
    assert!(run.expect_second_answer().wait().unwrap().success());
    assert!(resident(&world).is_some_and(|(second, _)| second != first));
}

#[test]
fn the_agent_of_a_killed_run_keeps_its_model_after_a_restart() {
    let (world, _model) = asking_twice();
    let _leaves = Leaves(&world);
    let mut run = AskedOnce::start(&world);
    let (pid, url) = resident(&world).unwrap();
    // `wait` would close the agent's standard input, and the agent would exit.
    let mut stdin = run.child.stdin.take().unwrap();
    run.child.kill().unwrap();
    run.child.wait().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let dirs = || std::fs::read_dir(world.state().join("runs")).map_or(0, Iterator::count);
    assert_eq!(dirs(), 2, "its directory and its lock");
    let _serve = Serve::start_with(&world, &["--no-http"]);
    listens(&world, &url, 2);
    assert_eq!(dirs(), 2, "the agent still runs");
    stdin.write_all(b"go\n").unwrap();
    let mut lines = run.lines;
    let (answered, rest) =
        within("the second answer", move || (lines.any(|line| line.contains("Two.")), lines.count()));
    assert!(answered, "{rest} more lines");
    assert_eq!(world.run(&["run", "--quiet", "true"]).code, Some(0));
    assert_eq!(dirs(), 0, "what the killed run left is gone");
}

#[test]
fn stop_names_the_run_that_keeps_the_resident_process_running() {
    let (world, _) = with_program("thing", "echo ready\nread -r line");
    let _leaves = Leaves(&world);
    let mut command = world.command(["run", "--quiet", "thing"]);
    let mut child = command.stdin(Stdio::piped()).process_group(0).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    let before = world.run(&["status", "--json"]).json()["resident"]["pid"].clone();
    let stopped = world.run(&["stop"]);
    assert_eq!(stopped.code, Some(1), "{stopped:?}");
    assert!(
        stopped.err.contains("belay run") && stopped.err.contains(&format!("pid {before} has stopped")),
        "{stopped:?}"
    );
    if cfg!(target_os = "linux") {
        assert!(stopped.err.contains(&format!("(pid {})", child.id())), "{stopped:?}");
    }
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(world.run(&["stop"]).code, Some(0));
}
