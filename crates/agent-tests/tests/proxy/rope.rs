//! A bench with a resident process whose proxy agents are run through.

use std::net::SocketAddr;
use std::path::PathBuf;

use belay_agent_tests::{Agent, Finished, Run, Workbench, belay_program};
use serde_json::Value;

/// The resident process, and what its commands say. Stopped at the end.
pub(crate) struct Rope<'a> {
    bench: &'a Workbench,
    pub(crate) belay: PathBuf,
}

impl<'a> Rope<'a> {
    pub(crate) fn tie(agent: &Agent, bench: &'a Workbench) -> Self {
        Self::tie_with(agent, bench, "")
    }

    /// As [`Rope::tie`], with more in Belay's configuration.
    pub(crate) fn tie_with(agent: &Agent, bench: &'a Workbench, more: &str) -> Self {
        bench.configure(agent).expect("a configuration");
        let belay = belay_program().expect("belay");
        // Tests run side by side: any port will do. A held request is refused at once, nobody is there to decide.
        let config = bench.home().join(".config/belay/config.toml");
        std::fs::create_dir_all(config.parent().expect("a folder")).expect("a folder");
        let text = format!("[serve]\nlisten = \"127.0.0.1:0\"\n[proxy]\nhold_timeout = \"0s\"\n{more}");
        std::fs::write(config, text).expect("a file");
        Self { bench, belay }
    }

    /// A run through the proxy alone.
    pub(crate) fn proxied(&self, run: Run<'a>) -> Run<'a> {
        run.via_proxy(&self.belay, &["run", "--no-hooks"])
    }

    /// What a command of ours says, in JSON.
    pub(crate) fn belay(&self, args: &[&str]) -> Value {
        let output = self.bench.command(&self.belay).args(args).arg("--json").output().expect("belay runs");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("belay {args:?}: {error}: {output:?}"))
    }

    /// Where the proxy is, once there is one: a first run opens the door.
    pub(crate) fn proxy(&self) -> SocketAddr {
        let output = self.bench.command(&self.belay).args(["run", "--quiet", "true"]).output().expect("belay runs");
        assert!(output.status.success(), "{output:?}");
        let status = self.belay(&["status"]);
        let url = status["resident"]["url"].as_str().unwrap_or_else(|| panic!("no door: {status}"));
        self.forget();
        url.trim_start_matches("http://").trim_end_matches('/').parse().expect("an address")
    }

    /// Begins anew: what there is is archived.
    pub(crate) fn forget(&self) {
        for session in self.belay(&["sessions", "--all"])["sessions"].as_array().expect("a list") {
            self.belay(&["archive", session["session"].as_str().expect("a name")]);
        }
    }

    /// Everything that was told about the one session there is.
    pub(crate) fn told(&self) -> Vec<Value> {
        let name = self.name();
        let output = self.bench.command(&self.belay).args(["events", "tail", &name, "-n", "500", "--json"]).output();
        let output = String::from_utf8(output.expect("belay runs").stdout).expect("text");
        output.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["event"].clone()).collect()
    }

    /// The one session there is.
    pub(crate) fn session(&self) -> Value {
        match self.belay(&["sessions"])["sessions"].as_array().expect("a list").as_slice() {
            [one] => one.clone(),
            several => panic!("one session, not {several:?}"),
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> String {
        self.session()["session"].as_str().expect("a name").to_owned()
    }

    /// Everything worth knowing when something is not as it should be.
    pub(crate) fn story(&self, finished: &Finished) -> String {
        let log = std::fs::read_to_string(self.bench.home().join(".local/state/belay/logs/belay.log"));
        format!("{}\n{}\n{}", finished.output(), self.belay(&["sessions"]), log.unwrap_or_default())
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
