//! One CLI in a terminal with its model, its Belay and the moments so far.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use belay_scripted_model::{Action, Script, ScriptedModel};
use serde_json::{Value, json};

use super::recording::{self, Label, Moment};
use super::terminal::Terminal;
use super::terminal_setups::{Mode, TerminalSetup};
use super::{poll, process};
use crate::installed_agents::{Agent, belay_program};
use crate::workbench::Workbench;

/// Reached only if a CLI does not do what the scenario expects.
const TIMEOUT: Duration = Duration::from_secs(40);

/// How long a dialog may stay after its keys were pressed, and a CLI after its terminal was closed.
const ANSWERED: Duration = Duration::from_secs(5);

/// How long a moment lasts before it is labelled: longer than the two seconds within which a status has to follow.
const SETTLE: Duration = Duration::from_millis(2_300);

/// How Belay observes the CLI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sensors {
    /// Hooks installed by `belay init`.
    Hooks,
    /// `belay run`: hooks and proxy.
    Run,
}

pub(super) struct Stage<'a> {
    cli: &'a Agent,
    pub(super) setup: &'static TerminalSetup,
    scenario: &'static str,
    bench: Workbench,
    model: Option<ScriptedModel>,
    terminal: Option<Terminal>,
    moments: Vec<Moment>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(cli: &'a Agent, setup: &'static TerminalSetup, scenario: &'static str) -> io::Result<Self> {
        let bench = Workbench::new()?;
        Ok(Self { cli, setup, scenario, bench, model: None, terminal: None, moments: Vec::new() })
    }

    /// Starts the CLI without passing its first dialog.
    pub(super) fn open(&mut self, script: Script, mode: Mode, sensors: Sensors) -> io::Result<()> {
        for (file, content) in self.setup.files {
            let file = self.bench.home().join(file);
            fs::create_dir_all(file.parent().unwrap_or(&file))?;
            fs::write(file, content)?;
        }
        self.bench.configure(self.cli)?;
        let config = self.bench.home().join(".config/belay/config.toml");
        fs::create_dir_all(config.parent().unwrap_or(&config))?;
        fs::write(config, "[serve]\nlisten = \"127.0.0.1:0\"\n")?;
        let model = ScriptedModel::start(script.otherwise("All done."))?;
        let mut command = match sensors {
            Sensors::Hooks => {
                self.belay(&["init", "--yes", "--agent", self.setup.agent.name])?;
                self.bench.command(&self.cli.program)
            }
            Sensors::Run => {
                let mut command = self.bench.command(belay_program()?);
                command.arg("run").arg(&self.cli.program);
                command
            }
        };
        let fill = |text: &str| text.replace("{url}", &model.url());
        command.args(self.setup.args.iter().map(|arg| fill(arg))).args(mode.args);
        command.envs(self.setup.agent.env.iter().map(|(name, value)| (name, fill(value))));
        command.envs(mode.env.iter().copied());
        self.terminal = Some(Terminal::start(self.bench.root().join("tmux"), &command)?);
        self.model = Some(model);
        Ok(())
    }

    /// Starts the CLI and passes its dialogs until it accepts a prompt.
    pub(super) fn start(&mut self, script: Script, mode: Mode, sensors: Sensors) -> io::Result<()> {
        self.open(script, mode, sensors)?;
        self.pass_dialogs()
    }

    pub(super) fn pass_dialogs(&mut self) -> io::Result<()> {
        let texts: Vec<&str> = self.setup.dialogs.iter().map(|(text, _)| *text).chain([self.setup.ready]).collect();
        loop {
            self.terminal()?.wait_for(&texts, TIMEOUT)?;
            // A dialog may follow the first screen, and ignores keys while it appears.
            self.terminal()?.wait_until_still(TIMEOUT)?;
            let found = self.terminal()?.wait_for(&texts, TIMEOUT)?;
            let Some((text, keys)) = self.setup.dialogs.get(found) else { return Ok(()) };
            self.terminal()?.press(keys)?;
            // A dialog that has ignored the keys is answered again.
            poll::until(ANSWERED, || Ok((!self.terminal()?.screen()?.contains(text)).then_some(())))?;
        }
    }

    fn terminal(&self) -> io::Result<&Terminal> {
        self.terminal.as_ref().ok_or_else(|| io::Error::other("the CLI has not been started"))
    }

    fn model(&self) -> io::Result<&ScriptedModel> {
        self.model.as_ref().ok_or_else(|| io::Error::other("the model has not been started"))
    }

    pub(super) fn prompt(&self, text: &str) -> io::Result<()> {
        self.terminal()?.enter(text)
    }

    pub(super) fn press(&self, keys: &[&str]) -> io::Result<()> {
        self.terminal()?.press(keys)
    }

    pub(super) fn wait_for(&self, text: &str) -> io::Result<()> {
        self.terminal()?.wait_for(&[text], TIMEOUT).map(drop)
    }

    /// Waits until a command has created a file in the project.
    pub(super) fn wait_for_file(&self, name: &str) -> io::Result<()> {
        let file = self.bench.work().join(name);
        match poll::until(TIMEOUT, || Ok(file.exists().then_some(())))? {
            Some(()) => Ok(()),
            None => {
                let screen = self.terminal()?.screen()?;
                Err(io::Error::other(format!("no command created {name}; the screen:\n{screen}")))
            }
        }
    }

    /// Waits until the model has got this many requests of the conversation.
    pub(super) fn wait_for_turns(&self, turns: usize) -> io::Result<()> {
        let screen = || self.terminal().and_then(Terminal::screen).unwrap_or_default();
        let waited = self.model()?.wait_for_turns(turns, TIMEOUT);
        waited.map(drop).map_err(|error| io::Error::other(format!("{error}; the screen:\n{}", screen())))
    }

    /// Lets the model send the response that it holds back.
    pub(super) fn release(&self) -> io::Result<()> {
        self.model()?.release();
        Ok(())
    }

    /// A command that runs in the foreground.
    pub(super) fn command_call(&self, command: &str) -> Action {
        call(self.setup.command_call, command)
    }

    /// A call that asks for permission, if the CLI runs in that mode.
    pub(super) fn asking_call(&self, command: &str) -> Action {
        call(self.setup.asking_call, command)
    }

    /// Labels the present moment, after it has lasted for more than two seconds: what is labelled is the status that has
    /// had that time to follow, so the recorder lets it pass.
    pub(super) fn mark(&mut self, kind: &'static str, label: impl Into<Label>) -> io::Result<()> {
        pause(SETTLE);
        self.mark_now(kind, label)
    }

    pub(super) fn mark_now(&mut self, kind: &'static str, label: impl Into<Label>) -> io::Result<()> {
        let events = self.events()?;
        let process = process::sight(agent_pid(&events));
        let at = belay_clock::now().millis();
        self.moments.push(Moment { kind, events: events.len(), at, process, label: label.into() });
        Ok(())
    }

    /// Labels the last moment again, as it would be later if nothing else happened.
    pub(super) fn mark_later(&mut self, kind: &'static str, minutes: i64, label: impl Into<Label>) {
        if let Some(last) = self.moments.last().cloned() {
            self.moments.push(Moment { kind, at: last.at + minutes * 60_000, label: label.into(), ..last });
        }
    }

    /// Sends a signal to the agent's process.
    pub(super) fn signal(&self, signal: &str) -> io::Result<()> {
        let pid = agent_pid(&self.events()?).ok_or_else(|| io::Error::other("the agent's process is not known"))?;
        let done = Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).status()?;
        if done.success() { Ok(()) } else { Err(io::Error::other(format!("cannot signal process {pid}"))) }
    }

    fn belay(&self, args: &[&str]) -> io::Result<String> {
        let output = self.bench.command(belay_program()?).args(args).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// All events of the conversation and its sub-agents so far.
    fn events(&self) -> io::Result<Vec<Value>> {
        let lines = self.belay(&["events", "tail", "-n", "1000", "--json"])?;
        let events = lines.lines().filter_map(|line| Some(serde_json::from_str::<Value>(line).ok()?["event"].take()));
        let events: Vec<Value> = events.collect();
        // `belay init` tests itself in a session of its own.
        let root =
            events.iter().find(|event| event["parent"].is_null() && !event["session"].to_string().contains("belay-"));
        let Some(session) = root.map(|event| event["session"].clone()) else { return Ok(vec![]) };
        let of_session = |event: &Value| event["session"] == session || event["parent"] == session;
        Ok(events.into_iter().filter(of_session).collect())
    }

    /// Writes the recording and returns the number of moments.
    pub(super) fn write(mut self, dir: &Path) -> io::Result<usize> {
        if self.moments.is_empty() {
            return Ok(0);
        }
        let events = self.events()?;
        let head = json!({ "agent": self.setup.agent.name, "scenario": self.scenario });
        let session = events.first().map(|event| &event["session"]);
        let id = session.and_then(|session| session["id"].as_str().map(str::to_owned));
        let root = self.bench.root().display().to_string();
        let url = self.model()?.url();
        // Claude Code names directories after paths.
        let project_name = root.replace(['/', '.'], "-");
        let mut replace = vec![
            (root, "/home/user"),
            (project_name, "-home-user"),
            (url.trim_start_matches("http://").to_owned(), "127.0.0.1:1"),
        ];
        replace.extend(id.map(|id| (id, "s1")));
        let file = dir.join(format!("{}-{}.jsonl", self.setup.agent.name, self.scenario));
        recording::write(&file, &head, &events, &self.moments, &replace)?;
        self.terminal = None;
        Ok(self.moments.len())
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        let pid = self.events().ok().and_then(|events| agent_pid(&events));
        // The CLI ends before its home is removed, and before Belay stops: its last hook would start Belay again.
        self.terminal = None;
        let _ = poll::until(ANSWERED, || Ok((process::sight(pid).state != "alive").then_some(())));
        let _ = self.belay(&["stop"]);
    }
}

fn call(tool: Option<(&str, &str)>, command: &str) -> Action {
    match tool {
        Some((tool, args)) => Action::call(tool, args_of(&args.replace("{command}", command))),
        None => Action::shell(command),
    }
}

/// The process that Belay knows as the agent's.
fn agent_pid(events: &[Value]) -> Option<u32> {
    let pid = events.iter().rev().find_map(|event| event.get("pid")?.as_u64());
    pid.and_then(|pid| u32::try_from(pid).ok())
}

pub(super) fn args_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// Lets time pass in a recording: a tool that runs for a while, an agent that stays silent. The recorder is not a test;
/// the moments that it records are replayed on virtual time.
pub(super) fn pause(time: Duration) {
    std::thread::sleep(time);
}
