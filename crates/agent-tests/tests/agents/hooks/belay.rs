//! A workbench with Belay's hooks installed.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use belay_agent_tests::{Agent, Workbench, belay_program};
use serde_json::Value;

/// Hooks installed by `belay init`, as a user does it. Drop stops the resident process that the first hook starts.
pub(crate) struct Belay<'a> {
    bench: &'a Workbench,
    program: PathBuf,
}

impl<'a> Belay<'a> {
    pub(crate) fn install(agent: &Agent, bench: &'a Workbench) -> Self {
        Self::install_program(agent, bench, belay_program().expect("belay"))
    }

    /// Hooks that call this program.
    pub(crate) fn install_program(agent: &Agent, bench: &'a Workbench, program: PathBuf) -> Self {
        bench.configure(agent).expect("a configuration");
        let belay = Self { bench, program };
        let done = belay.json(&["init", "--yes", "--agent", agent.setup.name, "--json"]);
        assert_eq!(done["init"][0]["outcome"], "done", "{done}");
        belay
    }

    /// Runs a command and returns its standard output.
    pub(crate) fn text(&self, args: &[&str]) -> String {
        let output = self.bench.command(&self.program).args(args).output().expect("belay runs");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!out.is_empty(), "belay {args:?}: {err}");
        out.into_owned()
    }

    /// Runs a command that must fail and returns its standard error.
    pub(crate) fn refused(&self, args: &[&str]) -> String {
        let output = self.bench.command(&self.program).args(args).output().expect("belay runs");
        assert!(!output.status.success(), "belay {args:?} succeeded");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Runs a command and parses its standard output as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let out = self.text(args);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("belay {args:?}: {error}: {out}"))
    }

    /// All sessions, newest first.
    pub(crate) fn sessions(&self) -> Vec<Value> {
        self.json(&["sessions", "--json"])["sessions"].as_array().expect("a list").clone()
    }

    /// The only session.
    pub(crate) fn session(&self) -> Value {
        match &self.sessions()[..] {
            [one] => one.clone(),
            several => panic!("one session, not {several:?}"),
        }
    }

    /// All events of a session, oldest first.
    pub(crate) fn events(&self, id: &str) -> Vec<Value> {
        let lines = self.text(&["events", "tail", id, "-n", "1000", "--json"]);
        let read = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["event"].take();
        lines.lines().map(read).collect()
    }

    /// The id of the resident process. Starts one in case the hook's is not up yet; the loser reports the other's id.
    pub(crate) fn resident(&self) -> i32 {
        let mut serve = self.bench.command(&self.program);
        serve.args(["serve", "--no-http", "--json"]).stdout(Stdio::piped());
        #[expect(clippy::zombie_processes, reason = "it serves until the test kills it or drop stops it")]
        let serve = serve.spawn().expect("belay runs");
        let mut line = String::new();
        BufReader::new(serve.stdout.expect("a pipe")).read_line(&mut line).expect("a line");
        let reply: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let served = if reply["serving"] == true { &reply } else { &reply["already"] };
        served["pid"]
            .as_i64()
            .and_then(|pid| i32::try_from(pid).ok())
            .unwrap_or_else(|| panic!("no process id: {reply}"))
    }

    /// Errors in the log of the hooks, except timeouts: on a busy machine a hook may have to decide in-process.
    pub(crate) fn faults(&self) -> String {
        let log = self.bench.home().join(".local/state/belay/logs/hook.log");
        let log = std::fs::read_to_string(log).unwrap_or_default();
        log.lines().filter(|line| !line.ends_with("it took too long")).collect()
    }
}

impl Drop for Belay<'_> {
    fn drop(&mut self) {
        // It would exit after half an hour idle.
        let _ = self.bench.command(&self.program).args(["stop"]).output();
    }
}

pub(crate) fn number(session: &Value, counter: &str) -> u64 {
    session[counter].as_u64().unwrap_or_else(|| panic!("no {counter} in {session}"))
}
