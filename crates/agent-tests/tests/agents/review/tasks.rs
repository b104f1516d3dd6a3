//! A project with a test, and `belay review` on it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use belay_agent_tests::{Agent, Workbench};
use belay_scripted_model::{Action, Script, ScriptedModel};
use serde_json::{Value, json};

use crate::proxy::belay::Belay;

/// Reached only if something hangs, even on a busy machine, and before the test is killed without a report.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The test of the project: the greeting must be complete.
pub(crate) const GATE: &str = "sh test.sh";
const TEST: &str = "echo \"greeting: $(cat greeting.txt)\"\ngrep -qx 'hello world' greeting.txt\n";
pub(crate) const TASK: &str = "Write the greeting into greeting.txt";

/// Belay and the agents of one workbench, which all review tasks share.
pub(crate) struct Reviews<'a> {
    pub(crate) bench: &'a Workbench,
    pub(crate) belay: Belay<'a>,
    env: Vec<(&'static str, String)>,
}

/// A command that followed a task to its end.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) code: Option<i32>,
    pub(crate) task: Value,
}

impl<'a> Reviews<'a> {
    /// Each agent with its model. There is one worker.
    pub(crate) fn configure(bench: &'a Workbench, agents: &[(&Agent, &ScriptedModel)]) -> Self {
        bench.write("test.sh", TEST).expect("a test");
        bench.commit("Add a test").expect("a commit");
        // A merge needs an author.
        let author = "[user]\nname = Test\nemail = test@localhost\n";
        std::fs::write(bench.home().join(".gitconfig"), author).expect("a file");
        let mut config = "[review]\nworkers = 1\n".to_owned();
        for (agent, model) in agents {
            bench.configure_with_model(agent, &model.url()).expect("a configuration");
            config += &format!("[agents.{}]\nprogram = \"{}\"\n", agent.setup.name, agent.program.display());
        }
        let env = agents.iter().flat_map(|(agent, model)| {
            agent.setup.env.iter().map(|(name, value)| (*name, value.replace("{url}", &model.url())))
        });
        Self { bench, belay: Belay::configure_with(agents[0].0, bench, &config), env: env.collect() }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.bench.command(&self.belay.program);
        command.envs(self.env.iter().map(|(name, value)| (name, value))).arg("review").args(args);
        command
    }

    /// Runs `belay review`, which must print JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.command(args).arg("--json").output().expect("belay runs");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("belay review {args:?}: {error}: {output:?}"))
    }

    /// Files a task, and returns its id.
    pub(crate) fn file(&self, args: &[&str]) -> String {
        let filed = self.json(&[&["start", TASK, "--detach"], args].concat());
        filed["id"].as_str().unwrap_or_else(|| panic!("no id: {filed}")).to_owned()
    }

    /// Follows a task to its end.
    pub(crate) fn watch(&self, id: &str) -> Watched {
        let (mut watch, task) = self.follow(id, has_ended);
        Watched { code: watch.wait().expect("an end").code(), task }
    }

    /// Follows a task until it is as wanted.
    pub(crate) fn until(&self, id: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let (mut watch, task) = self.follow(id, wanted);
        watch.kill().and_then(|()| watch.wait()).expect("an end");
        task
    }

    /// Runs `belay review watch`, and asks for the task whenever that has printed something.
    fn follow(&self, id: &str, wanted: impl Fn(&Value) -> bool) -> (Child, Value) {
        let mut command = self.command(&["watch", id]);
        #[expect(clippy::zombie_processes, reason = "the caller waits for it; a failed assertion ends the test")]
        let mut watch = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("belay runs");
        let progress = BufReader::new(watch.stderr.take().expect("a pipe"));
        let (printed, lines) = mpsc::channel();
        std::thread::spawn(move || progress.lines().map_while(Result::ok).try_for_each(|line| printed.send(line)));
        loop {
            let line = lines.recv_timeout(TIMEOUT);
            let task = self.json(&["show", id]);
            if wanted(&task) {
                return (watch, task);
            }
            // The output ends with the task.
            assert!(line.is_ok(), "{}", self.report(&task));
        }
    }

    /// All sessions of an agent.
    pub(crate) fn sessions_of(&self, agent: &Agent) -> Vec<Value> {
        let sessions = self.belay.json(&["sessions", "--all"])["sessions"].as_array().expect("a list").clone();
        let prefix = format!("{}:", agent.setup.name);
        let is_its = |session: &Value| session["session"].as_str().is_some_and(|name| name.starts_with(&prefix));
        sessions.into_iter().filter(is_its).collect()
    }

    /// The task, what its runs printed and Belay's log, for the message of a failed assertion.
    pub(crate) fn report(&self, task: &Value) -> String {
        let state = self.bench.home().join(".local/state/belay");
        let runs = state.join("reviews").join(task["id"].as_str().unwrap_or_default()).join("runs");
        let mut report = format!("{task:#}\n");
        let mut files: Vec<_> =
            std::fs::read_dir(runs).into_iter().flatten().flatten().map(|file| file.path()).collect();
        files.sort();
        files.push(state.join("logs/belay.log"));
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            report += &format!("--- {}\n{text}\n", file.display());
        }
        report
    }
}

fn has_ended(task: &Value) -> bool {
    ["done", "needs_attention", "cancelled", "failed"].iter().any(|end| task["phase"] == *end)
}

/// How tests name an agent in a command: with the model of its setup, if that names one.
pub(crate) fn role(agent: &Agent) -> String {
    let setup = agent.setup;
    let model = setup.start.windows(2).find_map(|pair| (pair[0] == "-m").then_some(pair[1]));
    model.map_or_else(|| setup.name.to_owned(), |model| format!("{}@{model}", setup.name))
}

/// What a reviewer says.
pub(crate) struct Verdict {
    pub(crate) issue: Option<&'static str>,
}

impl Verdict {
    /// The turns of a reviewer that gives this verdict: JSON if its CLI enforces a schema, a status line otherwise.
    pub(crate) fn script(&self, agent: &Agent, script: Script) -> Script {
        let issues = self.issue.iter().map(|claim| {
            json!({
                "id": null, "file": "README.md", "line": 1, "claim": claim, "severity": "major",
                "evidence": "grep greeting README.md finds nothing", "reason": null,
            })
        });
        let status = if self.issue.is_some() { "issues_found" } else { "done" };
        let answer = json!({ "status": status, "action": null, "issues": issues.collect::<Vec<_>>() });
        match agent.setup.name {
            "claude-code" => script.call("StructuredOutput", answer),
            "codex" => script.text(answer.to_string()),
            _ => script.text(match self.issue {
                Some(claim) => format!("STATUS: ISSUES_FOUND\n\n- [major] README.md:1: {claim}\n"),
                None => "STATUS: DONE\n".to_owned(),
            }),
        }
    }
}

/// A call that would change a file, by the agent's own name of the tool: a reader may not even be offered it.
pub(crate) fn forbidden_edit(agent: &Agent, file: &str) -> Action {
    let content = "made by the reviewer\n";
    match agent.setup.name {
        "claude-code" => Action::call("Write", json!({ "file_path": file, "content": content })),
        "gemini" => Action::call("write_file", json!({ "file_path": file, "content": content })),
        "opencode" => Action::call("write", json!({ "filePath": file, "content": content })),
        _ => Action::shell(format!("echo 'made by the reviewer' > {file}")),
    }
}
