//! `belay demo`: a scripted model and a minimal agent, connected through the real proxy and engine. Needs no key, no
//! agent and no network.

mod script;

use std::time::Duration;

use belay_config::{EnvSnapshot, Paths, Strictness};
use belay_ipc::Client;
use belay_scripted_model::{ScriptedModel, demo};
use belay_server::{Daemon, ServeOptions};
use clap::Args;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use script::{Narrator, SESSION_ID};

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Exit after the demo, with an error if it did not run as expected.
    #[arg(long)]
    once: bool,
}

pub(crate) fn run(context: &Context, args: &DemoArgs) -> CommandResult {
    let home = TempHome::new()?;
    let demo = DemoWorld::start(&home.0)?;
    let played = Narrator::new(context.out.clone()).play(&demo);
    let failed = |error: String| CommandError::new(error).hint("this is a bug in Belay; please report it");
    if args.once {
        demo.stop()?;
        return played.map(|()| ExitStatus::Done).map_err(failed);
    }
    if let Err(error) = &played {
        context.out.warn(error, None);
    }
    context.out.line(format!("\n  Status page:  {}", demo.url))?;
    context.out.line(format!("  Session:      belay --home {} show {SESSION_ID}", home.0.display()))?;
    context.out.line("  Your agent:   belay run claude   (or codex, gemini, copilot, opencode, ...)")?;
    context.out.line("\n  Ctrl-C stops the demo and deletes its files.")?;
    demo.wait()?;
    Ok(ExitStatus::Done)
}

/// A temporary state directory, deleted on drop.
struct TempHome(std::path::PathBuf);

impl TempHome {
    fn new() -> Result<Self, CommandError> {
        use std::os::unix::fs::DirBuilderExt;
        let dir = std::env::temp_dir().join(format!("belay-demo-{}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&dir)?;
        Ok(Self(dir))
    }
}

impl Drop for TempHome {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The model and the resident process of the demo.
struct DemoWorld {
    model: ScriptedModel,
    paths: Paths,
    url: String,
    serving: std::thread::JoinHandle<Result<&'static str, belay_server::ServeError>>,
}

impl DemoWorld {
    fn start(home: &std::path::Path) -> Result<Self, CommandError> {
        let model = ScriptedModel::start(demo::script())?;
        let env = EnvSnapshot::from_process();
        let paths = Paths::resolve(&env, Some(home))?;
        let flag = |key: &str, value: String| ("belay demo".to_owned(), key.to_owned(), value);
        let flags = vec![
            flag("serve.listen", "127.0.0.1:0".to_owned()),
            flag("proxy.upstreams.openai.url", model.url()),
            flag("proxy.hold_timeout", "0s".to_owned()),
            flag("notify.desktop", "false".to_owned()),
        ];
        let mut loader = belay_config::Loader::new(&paths, &env).strictness(Strictness::Lenient);
        for (flag, key, value) in &flags {
            loader = loader.flag(flag, key, value);
        }
        let config = loader.load()?.config;
        let resident = Daemon::start(ServeOptions { paths: paths.clone(), env, config, flags })?;
        let url = resident.url().unwrap_or_default().to_owned();
        let serving = std::thread::spawn(move || resident.run());
        Ok(Self { model, paths, url, serving })
    }

    /// The nudge in the last request, if it had one.
    fn nudge(&self) -> Option<String> {
        let last = self.model.turns().pop()?;
        let body: serde_json::Value = serde_json::from_slice(&last.body).ok()?;
        let message = body["messages"].as_array()?.last()?["content"].as_str()?.to_owned();
        let (_, note) = message.split_once("says: ")?;
        Some(note.lines().next().unwrap_or_default().to_owned())
    }

    fn client(&self) -> Result<Client, CommandError> {
        Ok(Client::connect(&self.paths, Duration::from_secs(10))?)
    }

    fn stop(self) -> Result<(), CommandError> {
        self.client()?.stop()?;
        self.wait()
    }

    /// Waits until the resident process exits.
    fn wait(self) -> Result<(), CommandError> {
        match self.serving.join() {
            Ok(served) => Ok(served.map(drop)?),
            Err(_) => Err(CommandError::new("the resident process panicked")),
        }
    }
}
