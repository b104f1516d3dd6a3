//! `belay demo`: a looping agent meets Belay. No keys, no agent, no network: a model that answers by
//! script, an agent of a few lines, and between them the real proxy with the real engine.

mod agent;

use std::io::Write;
use std::time::{Duration, Instant};

use belay_config::{Env, Places, Strictness};
use belay_core::event::OperatorDecision;
use belay_core::{Excerpt, SessionKey};
use belay_scripted_model::{Script, ScriptedModel};
use belay_server::protocol::Decide;
use belay_server::{Client, Resident, ServeOptions};
use clap::Args;

use super::Ended;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;
use agent::{Agent, Heard};

/// More turns than the story needs.
const TURNS: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Leave when the story is told; fail if it did not go as told.
    #[arg(long)]
    once: bool,
}

pub(crate) fn run(context: &Context, args: &DemoArgs) -> Ended {
    let home = Home::new()?;
    let stage = Stage::set(&home.0)?;
    let told = Teller { out: context.out, start: Instant::now() }.tell(&stage);
    if let Err(error) = &told
        && !args.once
    {
        context.out.warn(&error.to_string(), None);
    }
    if args.once {
        stage.leave()?;
        return told
            .map(|()| Exit::Done)
            .map_err(|error| CommandError::new(error).hint("this is a fault of Belay; please report it"));
    }
    context.out.line(format!("\nThe page of this session stays open: {}", stage.url))?;
    context.out.line("Leave with Ctrl-C.")?;
    stage.stay()?;
    Ok(Exit::Done)
}

/// A state folder of the demo's own; gone with it.
struct Home(std::path::PathBuf);

impl Home {
    fn new() -> Result<Self, CommandError> {
        use std::os::unix::fs::DirBuilderExt;
        let folder = std::env::temp_dir().join(format!("belay-demo-{}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Everything the story needs.
struct Stage {
    model: ScriptedModel,
    places: Places,
    url: String,
    serving: std::thread::JoinHandle<Result<&'static str, belay_server::ServeError>>,
}

impl Stage {
    fn set(home: &std::path::Path) -> Result<Self, CommandError> {
        let script = Script::new()
            .shell("npm test")
            .repeat(TURNS)
            .text("I read the error first: the port was taken. Now the tests pass.");
        let model = ScriptedModel::start(script)?;
        let env = Env::of_process();
        let places = Places::find(&env, Some(home))?;
        let flag = |key: &str, value: String| ("belay demo".to_owned(), key.to_owned(), value);
        let flags = vec![
            flag("serve.listen", "127.0.0.1:0".to_owned()),
            flag("proxy.upstreams.openai.url", model.url()),
            flag("proxy.hold", "0s".to_owned()),
            flag("notify.desktop", "false".to_owned()),
        ];
        let mut loader = belay_config::Loader::new(&places, &env).strictness(Strictness::Lenient);
        for (flag, key, value) in &flags {
            loader = loader.flag(flag, key, value);
        }
        let config = loader.load()?.config;
        let resident = Resident::start(ServeOptions { places: places.clone(), env, config, flags })?;
        let url = resident.url().unwrap_or_default().to_owned();
        let serving = std::thread::spawn(move || resident.run());
        Ok(Self { model, places, url, serving })
    }

    /// The note that went along with the last request, if one did.
    fn nudge(&self) -> Option<String> {
        let last = self.model.turns().pop()?;
        let body: serde_json::Value = serde_json::from_slice(&last.body).ok()?;
        let said = body["messages"].as_array()?.last()?["content"].as_str()?.to_owned();
        let (_, note) = said.split_once("says: ")?;
        Some(note.lines().next().unwrap_or_default().to_owned())
    }

    fn client(&self) -> Result<Client, CommandError> {
        Ok(Client::connect(&self.places, Duration::from_secs(10))?)
    }

    fn leave(self) -> Result<(), CommandError> {
        self.client()?.stop()?;
        self.stay()
    }

    /// Waits until the resident process has left.
    fn stay(self) -> Result<(), CommandError> {
        match self.serving.join() {
            Ok(served) => Ok(served.map(drop)?),
            Err(_) => Err(CommandError::new("the resident process panicked")),
        }
    }
}

/// Tells the story as it happens.
struct Teller {
    out: crate::output::Output,
    start: Instant,
}

impl Teller {
    fn say(&self, who: &str, what: &str) {
        let _ = self.out.line(format!("{:>7.1} ms  {who:<6} {what}", self.start.elapsed().as_secs_f64() * 1e3));
        let _ = std::io::stdout().flush();
    }

    fn tell(&self, stage: &Stage) -> Result<(), String> {
        let trouble = |error: &dyn std::fmt::Display| error.to_string();
        let session = SessionKey::new("demo", "story");
        let mut agent = Agent::new(&stage.url, &session.to_string());
        self.say("person", "Make the tests pass.");
        let (mut nudged, mut paused) = (false, None);
        for turn in 1..=TURNS {
            let asked = Instant::now();
            match agent.ask().map_err(|error| trouble(&error))? {
                Heard::Call(command) => {
                    if let Some(nudge) = stage.nudge().filter(|_| !nudged) {
                        nudged = true;
                        self.say("Belay", &format!("nudges: {nudge}"));
                    }
                    self.say("agent", &format!("runs `{command}`, turn {turn}: 1 failing, as before"));
                    agent.answer("FAIL src/server.test.js\n  Error: listen EADDRINUSE: address already in use :::3000\n1 failing");
                }
                Heard::Refused(reason) => {
                    self.say("Belay", &format!("pauses: {reason}"));
                    paused = Some(asked.elapsed());
                    break;
                }
                Heard::Text(text) => return Err(format!("the agent was never paused; it ended with {text:?}")),
            }
        }
        if !nudged {
            return Err("the agent was never nudged".to_owned());
        }
        let Some(refusal) = paused else { return Err("the agent was never paused".to_owned()) };
        self.say(
            "",
            &format!("the request was refused in {:.2} ms, before it left for the model", refusal.as_secs_f64() * 1e3),
        );
        self.say("person", "belay resume demo:story --plan \"free the port first\"");
        let plan = Some(Excerpt::new("free the port first"));
        let decision = OperatorDecision::Resume { cooldown_secs: None, plan, require_plan: false, reset: true };
        let decide = Decide { session, decision, note: String::new(), by: None };
        stage
            .client()
            .and_then(|mut client| Ok(client.decide(&decide)?))
            .map_err(|_| "the session could not be resumed".to_owned())?;
        match agent.ask().map_err(|error| trouble(&error))? {
            Heard::Refused(reason) => Err(format!("the agent was still held after the resume: {reason}")),
            Heard::Call(_) | Heard::Text(_) => {
                self.say("agent", "goes on in the same conversation");
                Ok(())
            }
        }
    }
}
