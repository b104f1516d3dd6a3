//! The scenario: a loop, an ignored nudge, a pause, a resume with a new plan, and success.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use belay_core::event::OperatorDecision;
use belay_core::session::Counters;
use belay_core::{Excerpt, SessionKey};
use belay_ipc::DecideRequest;
use belay_scripted_model::demo::{Agent, FAILING_OUTPUT, MAX_TURNS, ModelReply, TASK, retry_output};
use belay_store::{Access, StoreUrl};

use super::DemoWorld;
use crate::output::Output;

pub(super) const SESSION_ID: &str = "demo:story";

/// The operator's plan.
const PLAN: &str = "free the port first";
/// Delay between two lines on a terminal.
const LINE_DELAY: Duration = Duration::from_millis(250);
/// Timeout of one step.
const STEP_TIMEOUT: Duration = Duration::from_secs(20);
/// Line width in columns.
const WIDTH: usize = 78;

/// Plays the scenario and prints it.
pub(super) struct Narrator {
    out: Output,
    delay: Duration,
}

const PERSON: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan))).bold();
const AGENT: Style = Style::new();
const NUDGE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow))).bold();
const PAUSE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red))).bold();
const DONE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green))).bold();

impl Narrator {
    pub(super) fn new(out: Output) -> Self {
        let delay = if std::io::stdout().is_terminal() { LINE_DELAY } else { Duration::ZERO };
        Self { out, delay }
    }

    /// Prints a line with its speaker; long texts are wrapped.
    fn print(&self, style: Style, who: &str, what: &str) {
        std::thread::sleep(self.delay);
        let mut who = who;
        for line in wrap(what) {
            let _ = self.out.styled_line(&[(AGENT, "  "), (style, &format!("{who:<7}")), (AGENT, &format!(" {line}"))]);
            who = "";
        }
        let _ = std::io::stdout().flush();
    }

    pub(super) fn play(&self, stage: &DemoWorld) -> Result<(), String> {
        let _ = self.out.line(
            "A looping agent under Belay. The model is scripted; the proxy and the engine that\n\
             decides are real.\n",
        );
        let mut agent = Agent::new(&stage.url, "/v1/chat/completions");
        agent.add_header("X-Belay-Session", SESSION_ID);
        self.print(PERSON, "you", &format!("{TASK}\n "));
        let (calls, refused) = self.run_loop(stage, &mut agent)?;
        self.print(AGENT, "", &format!("(refused in {}; the model was not called)\n ", millis(refused)));
        self.print(PERSON, "you", &format!("belay resume {SESSION_ID} --plan \"{PLAN}\"\n "));
        resume(stage)?;
        agent.retry();
        self.finish(&mut agent)?;
        let counters = wait_for(stage, |counters| counters.calls >= calls + 2)?;
        let sum = format!("{} calls and one refused request in a single session.", counters.calls);
        self.print(DONE, "done", &sum);
        Ok(())
    }

    /// Repeats the same call until Belay pauses the session. Returns the number of calls and the duration of the refusal.
    fn run_loop(&self, stage: &DemoWorld, agent: &mut Agent) -> Result<(u64, Duration), String> {
        let mut nudged = false;
        for calls in 0..MAX_TURNS as u64 {
            // Recording is asynchronous; a real command takes longer than it does.
            if calls > 1 {
                wait_for(stage, |counters| counters.results + 1 >= calls)?;
            }
            let asked = Instant::now();
            let reply = agent.ask(|| true).map_err(|error| error.to_string())?;
            let took = asked.elapsed();
            match reply {
                ModelReply::Call(command) => {
                    if let Some(nudge) = stage.nudge().filter(|_| !nudged) {
                        nudged = true;
                        self.print(NUDGE, "nudge", &format!("{}\n ", nudge.trim_start_matches("Belay: ")));
                    }
                    let what = if calls == 0 { "1 failing: port 3000 is taken" } else { "1 failing, as before" };
                    self.print(AGENT, "agent", &format!("$ {command:<22} {what:<32} {:>9}", millis(took)));
                    agent.push_output(FAILING_OUTPUT);
                }
                ModelReply::Refused(reason) if nudged => {
                    let _ = self.out.line("");
                    self.print(PAUSE, "pause", &reason);
                    return Ok((calls, took));
                }
                ModelReply::Refused(reason) => {
                    return Err(format!("the agent was paused without a previous nudge: {reason}"));
                }
                ModelReply::Text(text) => {
                    return Err(format!("the agent was never paused; its last message was {text:?}"));
                }
            }
        }
        Err("the agent was never paused".to_owned())
    }

    fn finish(&self, agent: &mut Agent) -> Result<(), String> {
        loop {
            let asked = Instant::now();
            match agent.ask(|| true).map_err(|error| error.to_string())? {
                ModelReply::Call(command) => {
                    let what = if command.contains("test") { "12 passing" } else { "port 3000 is free" };
                    let took = millis(asked.elapsed());
                    self.print(AGENT, "agent", &format!("$ {command:<22} {what:<32} {took:>9}"));
                    agent.push_output(retry_output(&command));
                }
                ModelReply::Text(text) => {
                    self.print(AGENT, "agent", &format!("{text}\n "));
                    return Ok(());
                }
                ModelReply::Refused(reason) => {
                    return Err(format!("the agent was still held after the resume: {reason}"));
                }
            }
        }
    }
}

fn resume(stage: &DemoWorld) -> Result<(), String> {
    let plan = Some(Excerpt::new(PLAN));
    let decision = OperatorDecision::Resume { cooldown_secs: None, plan, require_plan: false, reset: true };
    // The demo may resume its own session, also if an agent shows it to a person.
    let decide = DecideRequest::new(session(), decision).caller(Some(Box::default()));
    let decided = stage.client().and_then(|mut client| Ok(client.decide(&decide)?));
    decided.map(drop).map_err(|_| "cannot resume the session".to_owned())
}

/// Waits until the recorded counters satisfy a condition.
fn wait_for(stage: &DemoWorld, is_enough: impl Fn(&Counters) -> bool) -> Result<Counters, String> {
    let describe = |error: belay_store::StoreError| error.to_string();
    let store = belay_store::open(&StoreUrl::local(stage.paths.database()), Access::Read).map_err(describe)?;
    let until = Instant::now() + STEP_TIMEOUT;
    while Instant::now() < until {
        match store.session(&session()).map_err(describe)?.map(|row| row.details.counters) {
            Some(counters) if is_enough(&counters) => {
                // The row may be visible before the engine has finished the batch; a status response comes after it.
                let settled = stage.client().and_then(|mut client| Ok(client.status(false)?));
                return settled.map(|_| counters).map_err(|_| "the resident process does not answer".to_owned());
            }
            _ => std::thread::sleep(Duration::from_millis(2)),
        }
    }
    Err("the calls were not recorded in time".to_owned())
}

fn session() -> SessionKey {
    SessionKey::new("demo", "story")
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// Wraps a text at [`WIDTH`] columns.
fn wrap(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && line.len() + 1 + word.len() > WIDTH {
                lines.push(std::mem::take(&mut line));
            } else if !line.is_empty() || word.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}
