//! The story: a loop, a nudge nobody heeds, a pause, a person's word, and the way out.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use belay_core::event::OperatorDecision;
use belay_core::session::Counters;
use belay_core::{Excerpt, SessionKey};
use belay_ipc::DecideRequest;
use belay_store::{Access, StoreUrl};

use super::DemoWorld;
use super::agent::{Agent, ModelReply};
use crate::output::Output;

/// The session's name.
pub(super) const SESSION_ID: &str = "demo:story";
/// More turns than the story needs.
pub(super) const MAX_TURNS: usize = 20;
/// Header by which the model knows that the agent thinks again.
pub(super) const RETRY_HEADER: &str = "x-demo-afresh";

/// What the person says.
const PLAN: &str = "free the port first";
const FAILING_OUTPUT: &str =
    "FAIL src/server.test.js\n  Error: listen EADDRINUSE: address already in use :::3000\n1 failing";
/// Between two lines, for whoever reads along.
const LINE_DELAY: Duration = Duration::from_millis(250);
/// How long anything may take.
const STEP_TIMEOUT: Duration = Duration::from_secs(20);
/// Columns of the text.
const WIDTH: usize = 78;

/// Tells the story as it happens.
pub(super) struct Narrator {
    out: Output,
    beat: Duration,
}

const PERSON: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan))).bold();
const AGENT: Style = Style::new();
const NUDGE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow))).bold();
const PAUSE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red))).bold();
const DONE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green))).bold();

impl Narrator {
    pub(super) fn new(out: Output) -> Self {
        let beat = if std::io::stdout().is_terminal() { LINE_DELAY } else { Duration::ZERO };
        Self { out, beat }
    }

    /// A line: who, and what; longer texts go on below.
    fn say(&self, style: Style, who: &str, what: &str) {
        std::thread::sleep(self.beat);
        let mut who = who;
        for line in wrapped(what) {
            let _ = self.out.line(format!("  {style}{who:<7}{style:#} {line}"));
            who = "";
        }
        let _ = std::io::stdout().flush();
    }

    pub(super) fn tell(&self, stage: &DemoWorld) -> Result<(), String> {
        let _ = self.out.line(
            "Belay, with an agent that goes in circles. The model answers by script;\n\
             the proxy between them and the engine that decides are the real ones.\n",
        );
        let mut agent = Agent::new(&stage.url, SESSION_ID);
        self.say(PERSON, "you", "Make the tests pass.\n ");
        let (calls, refused) = self.loops(stage, &mut agent)?;
        self.say(AGENT, "", &format!("(refused in {} before it left for the model)\n ", millis(refused)));
        self.say(PERSON, "you", &format!("belay resume {SESSION_ID} --plan \"{PLAN}\"\n "));
        resume(stage)?;
        agent.hint = Some(RETRY_HEADER);
        self.goes_on(&mut agent)?;
        let seen = watch(stage, |seen| seen.calls >= calls + 2)?;
        let sum = format!("{} calls, one request refused, one conversation from beginning to end.", seen.calls);
        self.say(DONE, "done", &sum);
        Ok(())
    }

    /// The same call over and over, until Belay has enough. How many calls, and how long the refusal took.
    fn loops(&self, stage: &DemoWorld, agent: &mut Agent) -> Result<(u64, Duration), String> {
        let mut nudged = false;
        for calls in 0..MAX_TURNS as u64 {
            // A real command takes longer than it takes to be judged.
            if calls > 1 {
                watch(stage, |seen| seen.results + 1 >= calls)?;
            }
            let asked = Instant::now();
            let heard = agent.ask().map_err(|error| error.to_string())?;
            let took = asked.elapsed();
            match heard {
                ModelReply::Call(command) => {
                    if let Some(nudge) = stage.nudge().filter(|_| !nudged) {
                        nudged = true;
                        self.say(NUDGE, "nudge", &format!("{}\n ", nudge.trim_start_matches("Belay: ")));
                    }
                    let what = if calls == 0 { "1 failing: port 3000 is taken" } else { "1 failing, as before" };
                    self.say(AGENT, "agent", &format!("$ {command:<22} {what:<32} {:>9}", millis(took)));
                    agent.answer(FAILING_OUTPUT);
                }
                ModelReply::Refused(reason) if nudged => {
                    let _ = self.out.line("");
                    self.say(PAUSE, "pause", &reason);
                    return Ok((calls, took));
                }
                ModelReply::Refused(reason) => {
                    return Err(format!("the agent was paused without a nudge before: {reason}"));
                }
                ModelReply::Text(text) => return Err(format!("the agent was never paused; it ended with {text:?}")),
            }
        }
        Err("the agent was never paused".to_owned())
    }

    fn goes_on(&self, agent: &mut Agent) -> Result<(), String> {
        loop {
            let asked = Instant::now();
            match agent.ask().map_err(|error| error.to_string())? {
                ModelReply::Call(command) => {
                    let tests = command.contains("test");
                    let (what, output) =
                        if tests { ("12 passing", "12 passing") } else { ("port 3000 is free", "3000/tcp: 4711") };
                    let took = millis(asked.elapsed());
                    self.say(AGENT, "agent", &format!("$ {command:<22} {what:<32} {took:>9}"));
                    agent.answer(output);
                }
                ModelReply::Text(text) => {
                    self.say(AGENT, "agent", &format!("{text}\n "));
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
    let decide = DecideRequest { session: session(), decision, note: String::new(), by: None };
    let decided = stage.client().and_then(|mut client| Ok(client.decide(&decide)?));
    decided.map(drop).map_err(|_| "the session could not be resumed".to_owned())
}

/// Waits until so much of the session is known.
fn watch(stage: &DemoWorld, enough: impl Fn(&Counters) -> bool) -> Result<Counters, String> {
    let trouble = |error: belay_store::StoreError| error.to_string();
    let store = belay_store::open(&StoreUrl::local(stage.places.database()), Access::Read).map_err(trouble)?;
    let until = Instant::now() + STEP_TIMEOUT;
    while Instant::now() < until {
        match store.session(&session()).map_err(trouble)?.map(|row| row.details.counters) {
            Some(seen) if enough(&seen) => {
                // The store shows what is still on its way to the disk; once the resident process answers, it counts.
                let settled = stage.client().and_then(|mut client| Ok(client.status(false)?));
                return settled.map(|_| seen).map_err(|_| "the resident process does not answer".to_owned());
            }
            _ => std::thread::sleep(Duration::from_millis(2)),
        }
    }
    Err("what the agent did was not recorded in time".to_owned())
}

fn session() -> SessionKey {
    SessionKey::new("demo", "story")
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// Lines no longer than a screen is wide.
fn wrapped(text: &str) -> Vec<String> {
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
