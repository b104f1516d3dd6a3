//! A workbench with a resident process and its proxy.

use std::net::SocketAddr;
use std::path::PathBuf;

use belay_agent_tests::{Agent, Finished, Run, Workbench, belay_program};
use serde_json::Value;

/// Belay for one workbench. Drop stops the resident process.
pub(crate) struct Belay<'a> {
    bench: &'a Workbench,
    pub(crate) program: PathBuf,
}

impl<'a> Belay<'a> {
    pub(crate) fn configure(agent: &Agent, bench: &'a Workbench) -> Self {
        Self::configure_with(agent, bench, "")
    }

    /// As [`Belay::configure`], with more lines in Belay's configuration.
    pub(crate) fn configure_with(agent: &Agent, bench: &'a Workbench, more: &str) -> Self {
        bench.configure(agent).expect("a configuration");
        let program = belay_program().expect("belay");
        // Any port, because tests run in parallel. A held request is refused at once: no person is there to decide.
        let config = bench.home().join(".config/belay/config.toml");
        std::fs::create_dir_all(config.parent().expect("a directory")).expect("a directory");
        let text = format!("[serve]\nlisten = \"127.0.0.1:0\"\n[proxy]\nhold_timeout = \"0s\"\n{more}");
        std::fs::write(config, text).expect("a file");
        Self { bench, program }
    }

    /// A run through the proxy alone.
    pub(crate) fn proxied(&self, run: Run<'a>) -> Run<'a> {
        run.via_proxy(&self.program, &["run", "--no-hooks"])
    }

    /// Runs a command and parses its standard output as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.bench.command(&self.program).args(args).arg("--json").output().expect("belay runs");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("belay {args:?}: {error}: {output:?}"))
    }

    /// The address of the proxy. A first run starts it.
    pub(crate) fn proxy(&self) -> SocketAddr {
        let output = self.bench.command(&self.program).args(["run", "--quiet", "true"]).output().expect("belay runs");
        assert!(output.status.success(), "{output:?}");
        let status = self.json(&["status"]);
        let url = status["resident"]["url"].as_str().unwrap_or_else(|| panic!("no URL: {status}"));
        self.archive_all();
        url.trim_start_matches("http://").trim_end_matches('/').parse().expect("an address")
    }

    /// Archives all sessions.
    pub(crate) fn archive_all(&self) {
        for session in self.json(&["sessions", "--all"])["sessions"].as_array().expect("a list") {
            self.json(&["archive", session["session"].as_str().expect("a name")]);
        }
    }

    /// All events of the only session.
    pub(crate) fn events(&self) -> Vec<Value> {
        let name = self.name();
        let output = self.bench.command(&self.program).args(["events", "tail", &name, "-n", "500", "--json"]).output();
        let output = String::from_utf8(output.expect("belay runs").stdout).expect("text");
        output.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["event"].clone()).collect()
    }

    /// The only session.
    pub(crate) fn session(&self) -> Value {
        match self.json(&["sessions"])["sessions"].as_array().expect("a list").as_slice() {
            [one] => one.clone(),
            several => panic!("one session, not {several:?}"),
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> String {
        self.session()["session"].as_str().expect("a name").to_owned()
    }

    /// Output, sessions and log, for the message of a failed assertion.
    pub(crate) fn report(&self, finished: &Finished) -> String {
        let log = std::fs::read_to_string(self.bench.home().join(".local/state/belay/logs/belay.log"));
        format!("{}\n{}\n{}", finished.output(), self.json(&["sessions"]), log.unwrap_or_default())
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
