//! `belay run`: an agent on the rope, for one run.
//!
//! The resident process is started if it does not run, the agent's model requests are pointed at the
//! proxy and its hooks at us, and the agent gets the terminal, its arguments and its signals as if we
//! were not there. Nothing of the user's configuration is touched, and nothing outlives the run but
//! its record.

mod child;
mod daemon_keeper;
mod file_watcher;
mod run_plan;
mod run_session;
mod signals;

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belay_config::PathError;
use belay_ipc::RunRequest;
use clap::Args;
use uuid::Uuid;

use super::CommandResult;
use super::budget::BudgetAmount;
use super::decide::user;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use daemon_keeper::DaemonKeeper;
use run_plan::RunPlan;
use run_session::RunSession;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Show what would be started, and with which environment, and start nothing.
    #[arg(long)]
    dry_run: bool,
    /// What this run may cost: `2.50usd`, `500k` (tokens), or both.
    #[arg(long, value_name = "AMOUNT", value_delimiter = ',')]
    budget: Vec<BudgetAmount>,
    /// Leave the agent's hooks alone.
    #[arg(long)]
    no_hooks: bool,
    /// Leave the agent's model requests alone.
    #[arg(long)]
    no_proxy: bool,
    /// Do not watch the work tree for changes.
    #[arg(long)]
    no_watch: bool,
    /// codex, claude, gemini, copilot, opencode, qwen, aider, or any command; then its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(context: &Context, args: &RunArgs) -> CommandResult {
    if !context.global.set.is_empty() {
        return Err(CommandError::usage(
            "--set does not reach a run: the resident process decides, by its own settings",
        )
        .hint("--budget limits this run; `belay config set KEY VALUE` sets a value for all"));
    }
    let run = Uuid::now_v7().to_string();
    let scratch = context.places.state().join("runs").join(&run);
    let mut plan = RunPlan::new(context, args, &run, &scratch)?;
    if args.dry_run {
        plan.find_proxy(context, args)?;
        plan.show(context)?;
        return Ok(ExitStatus::Done);
    }
    let starter = DaemonKeeper::new(context)?;
    let mut client = starter.connect(|| false)?;
    let begin = RunRequest { run: plan.key(), begins: true, proxied: !args.no_proxy, ..RunRequest::default() };
    plan.proxy = client.run(&begin)?.url.filter(|_| !args.no_proxy);
    let launch = plan.launch();
    let scratch = RunDir::write(scratch, &launch.files)?;
    let session = launch.session.clone();
    let story = RunSession::new(plan.key(), session.clone(), client);
    // Before anything is promised about the session, it is told of.
    story.begin(&plan)?;
    // A key goes where it would have gone: to the model API the user had chosen.
    let upstreams = launch.upstreams.iter().cloned().collect();
    let budget = args.budget.iter().map(|amount| (*amount).into()).collect();
    let begin = RunRequest { upstreams, session, budget, by: user(context), ..begin };
    story.register_budget(&begin)?;
    let story = Arc::new(story);
    greet(context, &plan, &launch, &story);
    let watch = match args.no_watch {
        true => None,
        false => {
            let story = Arc::clone(&story);
            file_watcher::FileWatcher::start(&plan.folder, scratch.fence(), move |changes| {
                story.report_changes(changes)
            })
        }
    };
    let again = RunRequest { at: plan.proxy.as_deref().and_then(address), ..begin };
    let (on, over) = UnixStream::pair()?;
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| starter.keep_alive(&story, &again, &over));
        let ended = child::run(&plan.program, &launch);
        drop(watch);
        story.end(ended.as_ref().ok().copied());
        drop(on);
        ended
    })?;
    Ok(super::result::of_run(context, story.session().as_ref(), &plan.folder, ended.into()))
}

/// Says where to look, once and on stderr.
fn greet(context: &Context, plan: &RunPlan, launch: &belay_agents::launch::LaunchCommand, story: &RunSession) {
    context.out.info(format!("Belay holds the rope for {}.", plan.name));
    if let Some(session) = story.session() {
        context.out.info(format!("  session  {session}"));
    }
    if let Some(url) = &plan.proxy {
        context.out.info(format!("  page     {url}"));
    }
    for note in &launch.notes {
        context.out.info(format!("  note     {note}"));
    }
}

/// Where the proxy listens.
fn address(url: &str) -> Option<SocketAddr> {
    url.trim_start_matches("http://").trim_end_matches('/').parse().ok()
}

/// A folder of this run's own; gone with it.
struct RunDir(PathBuf);

impl RunDir {
    fn write(folder: PathBuf, files: &[(PathBuf, String)]) -> Result<Self, PathError> {
        let scratch = Self(folder);
        scratch.fill(files).map_err(|source| PathError::Io { path: scratch.0.clone(), source })?;
        Ok(scratch)
    }

    fn fill(&self, files: &[(PathBuf, String)]) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        let create = |folder: &Path| std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        create(&self.fence())?;
        for (path, content) in files {
            create(path.parent().unwrap_or(path))?;
            std::fs::write(path, content)?;
        }
        Ok(())
    }

    /// Where the watch leaves its mark.
    fn fence(&self) -> PathBuf {
        self.0.join("fence")
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
