//! A bench whose agent is on the rope.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use belay_agent_tests::{Agent, Workbench, belay_program};
use serde_json::Value;

/// Hooks installed by `belay init`, as a user would. The resident process that the first hook starts is stopped at the
/// end.
pub(crate) struct Rope<'a> {
    bench: &'a Workbench,
    belay: PathBuf,
}

impl<'a> Rope<'a> {
    pub(crate) fn tie(agent: &Agent, bench: &'a Workbench) -> Self {
        bench.configure(agent).expect("a configuration");
        let rope = Self { bench, belay: belay_program().expect("belay") };
        let done = rope.belay(&["init", "--yes", "--agent", agent.recipe.name, "--json"]);
        assert_eq!(done["init"][0]["outcome"], "done", "{done}");
        rope
    }

    /// What a command of ours says.
    pub(crate) fn belay_text(&self, args: &[&str]) -> String {
        let output = self.bench.command(&self.belay).args(args).output().expect("belay runs");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!out.is_empty(), "belay {args:?}: {err}");
        out.into_owned()
    }

    /// As [`Rope::belay_text`], in JSON.
    pub(crate) fn belay(&self, args: &[&str]) -> Value {
        let out = self.belay_text(args);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("belay {args:?}: {error}: {out}"))
    }

    /// All sessions, newest first.
    pub(crate) fn sessions(&self) -> Vec<Value> {
        self.belay(&["sessions", "--json"])["sessions"].as_array().expect("a list").clone()
    }

    /// The one session there is.
    pub(crate) fn session(&self) -> Value {
        match &self.sessions()[..] {
            [one] => one.clone(),
            several => panic!("one session, not {several:?}"),
        }
    }

    /// All events of a session, oldest first.
    pub(crate) fn events(&self, id: &str) -> Vec<Value> {
        let lines = self.belay_text(&["events", "tail", id, "-n", "1000", "--json"]);
        let read = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["event"].take();
        lines.lines().map(read).collect()
    }

    /// The resident process: the one that a hook has started or, should that be on its way still, one that is there
    /// before it. Asking for a second one tells which.
    pub(crate) fn resident(&self) -> i32 {
        let mut serve = self.bench.command(&self.belay);
        serve.args(["serve", "--no-http", "--json"]).stdout(Stdio::piped());
        #[expect(clippy::zombie_processes, reason = "the one that serves goes on until somebody stops or kills it")]
        let serve = serve.spawn().expect("belay runs");
        let mut line = String::new();
        BufReader::new(serve.stdout.expect("a pipe")).read_line(&mut line).expect("a line");
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let served = if said["serving"] == true { &said } else { &said["already"] };
        served["pid"]
            .as_i64()
            .and_then(|pid| i32::try_from(pid).ok())
            .unwrap_or_else(|| panic!("no process id: {said}"))
    }

    /// What went wrong in hooks, if anything did. That a busy machine was slow is not our fault: the hook then decided
    /// by itself.
    pub(crate) fn faults(&self) -> String {
        let log = self.bench.home().join(".local/state/belay/logs/hook.log");
        let log = std::fs::read_to_string(log).unwrap_or_default();
        log.lines().filter(|line| !line.ends_with("it took too long")).collect()
    }
}

impl Drop for Rope<'_> {
    fn drop(&mut self) {
        // It would leave by itself in half an hour.
        let _ = self.bench.command(&self.belay).args(["stop"]).output();
    }
}

pub(crate) fn number(session: &Value, counter: &str) -> u64 {
    session[counter].as_u64().unwrap_or_else(|| panic!("no {counter} in {session}"))
}
