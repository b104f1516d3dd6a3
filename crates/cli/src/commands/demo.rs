//! `belay demo`: a looping agent meets Belay. No keys, no agent, no network: a model that answers by
//! script, an agent of a few lines, and between them the real proxy with the real engine.

mod agent;
mod script;

use std::time::Duration;

use belay_config::{EnvSnapshot, Paths, Strictness};
use belay_ipc::Client;
use belay_scripted_model::{Script, ScriptedModel};
use belay_server::{Daemon, ServeOptions};
use clap::Args;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use script::{MAX_TURNS, Narrator, RETRY_HEADER, SESSION_ID};

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Leave when the story is told; fail if it did not go as told.
    #[arg(long)]
    once: bool,
}

pub(crate) fn run(context: &Context, args: &DemoArgs) -> CommandResult {
    let home = TempHome::new()?;
    let stage = DemoWorld::set(&home.0)?;
    let told = Narrator::new(context.out).tell(&stage);
    let failed = |error: String| CommandError::new(error).hint("this is a fault of Belay; please report it");
    if args.once {
        stage.leave()?;
        return told.map(|()| ExitStatus::Done).map_err(failed);
    }
    if let Err(error) = &told {
        context.out.warn(error, None);
    }
    context.out.line(format!("\n  Look at it:   {}", stage.url))?;
    context.out.line(format!("  or:           belay --home {} show {SESSION_ID}", home.0.display()))?;
    context.out.line("  Your agent:   belay run claude   (or codex, gemini, copilot, opencode, ...)")?;
    context.out.line("\n  Ctrl-C ends the demo and leaves nothing behind.")?;
    stage.stay()?;
    Ok(ExitStatus::Done)
}

/// A state folder of the demo's own; gone with it.
struct TempHome(std::path::PathBuf);

impl TempHome {
    fn new() -> Result<Self, CommandError> {
        use std::os::unix::fs::DirBuilderExt;
        let folder = std::env::temp_dir().join(format!("belay-demo-{}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for TempHome {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Everything the story needs.
struct DemoWorld {
    model: ScriptedModel,
    places: Paths,
    url: String,
    serving: std::thread::JoinHandle<Result<&'static str, belay_server::ServeError>>,
}

impl DemoWorld {
    fn set(home: &std::path::Path) -> Result<Self, CommandError> {
        let afresh = Script::new()
            .shell("fuser -k 3000/tcp")
            .shell("npm test")
            .text("The port was taken by an old server. It is free now, and all tests pass.");
        let script = Script::new().shell("npm test").repeat(MAX_TURNS).branch(RETRY_HEADER, afresh);
        let model = ScriptedModel::start(script)?;
        let env = EnvSnapshot::from_process();
        let places = Paths::resolve(&env, Some(home))?;
        let flag = |key: &str, value: String| ("belay demo".to_owned(), key.to_owned(), value);
        let flags = vec![
            flag("serve.listen", "127.0.0.1:0".to_owned()),
            flag("proxy.upstreams.openai.url", model.url()),
            flag("proxy.hold_timeout", "0s".to_owned()),
            flag("notify.desktop", "false".to_owned()),
        ];
        let mut loader = belay_config::Loader::new(&places, &env).strictness(Strictness::Lenient);
        for (flag, key, value) in &flags {
            loader = loader.flag(flag, key, value);
        }
        let config = loader.load()?.config;
        let resident = Daemon::start(ServeOptions { places: places.clone(), env, config, flags })?;
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
