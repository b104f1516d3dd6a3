//! `belay top`: one frame as text, and the full screen in a real tmux.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;

use crate::approvals::Scene;
use crate::resident::Serve;
use crate::world::{World, call, file_says, lines};

/// A session that works and one that a person paused.
fn two_sessions(world: &World) {
    let events = lines(&[call("e1", "abcdef123456", "cargo test"), call("e2", "xyz987654321", "npm test")]);
    assert_eq!(world.run_with(&["events", "post"], &events).code, Some(0));
    assert_eq!(world.run(&["pause", "abcdef", "-m", "looks odd"]).code, Some(0));
}

/// A screen without ages and times.
fn plain(world: &World, screen: &str) -> String {
    static VOLATILE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(\d+ min )?\d+ s\b|\d+ min\b|\d\d:\d\d(:\d\d)?").unwrap());
    world.plain(&VOLATILE.replace_all(screen, "[time]"))
}

#[test]
fn one_frame_is_the_same_with_and_without_a_resident_process() {
    let world = World::alone().var("LANG", "C.UTF-8");
    two_sessions(&world);
    let frames = || {
        let overview = plain(&world, &world.run(&["top", "--once"]).out);
        let session = plain(&world, &world.run(&["top", "--once", "abcdef"]).out);
        let json = world.run(&["top", "--json"]).json();
        assert_eq!(json["needs"][0]["kind"], "paused", "{json}");
        format!("{overview}\n{session}")
    };
    let in_process = frames();
    insta::assert_snapshot!("top-once", in_process);
    let _serve = Serve::start(&world);
    assert_eq!(frames(), in_process);
}

#[test]
fn one_frame_has_the_width_of_columns_and_ascii_without_a_utf_8_locale() {
    let world = World::alone();
    two_sessions(&world);
    for columns in [40, 100, 200] {
        let world_columns = columns.to_string();
        let mut command = world.command(["top", "--once"]);
        let output = command.env("COLUMNS", &world_columns).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.is_ascii() && text.lines().all(|line| line.len() <= columns), "{text}");
        assert!(text.contains("Paused") && text.contains("Working"), "{text}");
    }
}

#[test]
fn without_a_terminal_it_names_the_alternative() {
    let world = World::alone();
    insta::assert_snapshot!(world.run_text(&["top"]), @r"
    $ belay top
    -- stderr
    Error: cannot draw on the screen: stdout is not a terminal
    Hint: print one frame with `belay top --once`, or list sessions with `belay sessions`
    -- exit 1
    ");
    assert!(world.run(&["top", "--once"]).out.contains("Nobody needs you"));
    assert_eq!(world.run(&["top", "--once", "nobody"]).code, Some(1));
}

/// `belay top` in a tmux server of its own, which ends with the test.
struct Tmux<'w> {
    world: &'w World,
    socket: PathBuf,
}

impl<'w> Tmux<'w> {
    /// `None` if tmux is not installed.
    fn start(world: &'w World, columns: u16, rows: u16) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            return None;
        }
        let tmux = Self { world, socket: world.path("tmux.sock") };
        // Waits until its output is recorded. `exec` keeps the pid.
        let script = format!(
            "read _; sh -c 'echo $$ > {0}.pid; exec {1} top'; echo \"ended with $?\"; stty -a; cat",
            tmux.socket.display(),
            env!("CARGO_BIN_EXE_belay"),
        );
        let size = [columns.to_string(), rows.to_string()];
        tmux.run(&["-f", "/dev/null", "new-session", "-d", "-s", "top", "-x", &size[0], "-y", &size[1], &script]);
        tmux.run(&["pipe-pane", "-t", "top", &format!("cat >> {}", tmux.output().display())]);
        tmux.keys(&["Enter"]);
        Some(tmux)
    }

    fn run(&self, args: &[&str]) -> String {
        let mut command = self.world.program("tmux");
        let output = command.arg("-S").arg(&self.socket).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn keys(&self, keys: &[&str]) {
        self.run(&[["send-keys", "-t", "top"].as_slice(), keys].concat());
    }

    fn resize(&self, columns: u16, rows: u16) {
        self.run(&["resize-window", "-t", "top", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// What the program has written so far: a change means that the screen may have changed.
    fn output(&self) -> PathBuf {
        self.world.path("pane/output")
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p", "-t", "top"])
    }

    /// Waits until the screen holds all of these, and returns it.
    fn shows(&self, texts: &[&str]) -> String {
        file_says(&self.output(), |_| {
            let screen = self.screen();
            texts.iter().all(|text| screen.contains(text))
        });
        self.screen()
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        let mut command = self.world.program("tmux");
        let _ = command.arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}

/// A world with a terminal.
fn terminal() -> World {
    let world = World::alone().var("LANG", "C.UTF-8").var("TERM", "xterm-256color").var("SHELL", "/bin/sh");
    world.write("pane/output", "");
    world
}

fn world() -> World {
    let world = terminal();
    two_sessions(&world);
    world
}

#[expect(clippy::print_stdout, reason = "a test that did not run says so")]
fn tmux_is_missing() {
    println!("tmux is not installed (Debian: apt-get install tmux); nothing was tested");
}

#[test]
fn in_tmux_it_follows_the_size_and_a_decision_by_key_reaches_the_store() {
    let world = world();
    let Some(tmux) = Tmux::start(&world, 80, 24) else { return tmux_is_missing() };
    let small = tmux.shows(&["Needs you", "Paused", "Working, or waiting", "? keys"]);
    insta::assert_snapshot!("top-80x24", plain(&world, &small));
    tmux.resize(120, 40);
    insta::assert_snapshot!("top-120x40", plain(&world, &tmux.shows(&["Burn", "per h", "Paused"])));
    tmux.resize(200, 50);
    insta::assert_snapshot!("top-200x50", plain(&world, &tmux.shows(&["Context", "Paused"])));
    tmux.resize(40, 16);
    tmux.shows(&["Paused", "? keys"]);
    tmux.resize(80, 24);
    tmux.shows(&["Enter open"]);

    // What another command decides is on the screen without a key.
    world.run(&["pause", "xyz", "-m", "this one, too"]);
    tmux.shows(&["2 need you"]);
    world.run(&["resume", "xyz"]);
    tmux.shows(&["1 needs you"]);

    tmux.keys(&["Enter"]);
    tmux.shows(&["looks odd", "Shape of the work", "Esc back"]);
    tmux.keys(&["r"]);
    tmux.shows(&["Note the agent reads"]);
    tmux.keys(&["-l", "try another file"]);
    tmux.shows(&["--note 'try another file'"]);
    tmux.keys(&["Enter"]);
    tmux.shows(&["is resumed"]);
    let shown = world.run(&["show", "abcdef", "--json"]).json();
    assert_eq!(
        (&shown["session"]["state"], &shown["notes"][0]["text"]),
        (&"active".into(), &"try another file".into())
    );
    assert_eq!(shown["notes"][0]["by"], "ada");

    tmux.keys(&["q"]);
    tmux.shows(&["Enter open"]);
    tmux.keys(&["q"]);
    // The terminal is as it was.
    tmux.shows(&["ended with 0", " icanon"]);
}

#[test]
fn a_signal_ends_it_and_restores_the_terminal() {
    let world = world();
    let Some(tmux) = Tmux::start(&world, 80, 24) else { return tmux_is_missing() };
    tmux.shows(&["Needs you"]);
    assert_eq!(tmux.run(&["display-message", "-p", "-t", "top", "#{alternate_on}"]).trim(), "1");
    let pid: i32 = std::fs::read_to_string(world.path("tmux.sock.pid")).unwrap().trim().parse().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::TERM).unwrap();
    let screen = tmux.shows(&["ended with 143", "icanon"]);
    assert!(!screen.contains("-icanon") && !screen.contains("-echo ") && !screen.contains("Needs you"), "{screen}");
    assert_eq!(tmux.run(&["display-message", "-p", "-t", "top", "#{alternate_on}"]).trim(), "0");
}

#[test]
fn an_agent_cannot_resume_in_it() {
    let world = world().var("CLAUDE_CODE_SESSION_ID", "abcdef123456");
    let Some(tmux) = Tmux::start(&world, 80, 24) else { return tmux_is_missing() };
    tmux.shows(&["Needs you"]);
    tmux.keys(&["r"]);
    tmux.shows(&["Note the agent reads"]);
    tmux.keys(&["Enter"]);
    tmux.shows(&["this command was called by an agent"]);
    assert_eq!(world.run(&["show", "abcdef", "--json"]).json()["session"]["state"], "paused");
}

#[test]
fn a_permission_prompt_is_answered_in_it() {
    let scene = Scene::in_world(terminal(), &["--set", "approvals.wait=5m"]);
    let Some(tmux) = Tmux::start(&scene.world, 80, 24) else { return tmux_is_missing() };
    let (hook, prompt) = scene.asks("first", "rm -rf   build && make");
    tmux.shows(&["Permission", "y allows it once", "y allow  n deny"]);
    tmux.keys(&["y"]);
    // Every character, and nothing is decided yet.
    tmux.shows(&["Allow once", "rm -rf   build && make", "Enter allow it once"]);
    assert_eq!(scene.world.run(&["approvals", "--json"]).json()["approvals"][0]["id"], prompt.id);
    tmux.keys(&["Enter"]);
    assert!(hook.stdout().contains(r#""behavior":"allow""#));
    tmux.shows(&["Allowed once: Bash of claude-code:first."]);
    let log = scene.world.run(&["events", "tail", "claude-code:first", "--json"]).out;
    let answer = log.lines().find(|line| line.contains(r#""decision":"answer""#)).expect("the answer");
    assert!(answer.contains(&prompt.hash) && answer.contains(r#""by":"ada""#), "{answer}");

    let (hook, _) = scene.asks("second", "make deploy");
    tmux.shows(&["make deploy", "y allows it once"]);
    tmux.keys(&["g", "n"]);
    tmux.shows(&["Reason the agent reads"]);
    tmux.keys(&["-l", "not on a Friday"]);
    tmux.shows(&["--why 'not on a Friday'"]);
    tmux.keys(&["Enter"]);
    let output = hook.stdout();
    assert!(output.contains(r#""behavior":"deny""#) && output.contains("not on a Friday"), "{output}");
}
