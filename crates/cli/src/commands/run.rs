//! `belay run`: runs an agent under supervision.

use std::collections::BTreeMap;
use std::ffi::OsString;

use belay_config::Strictness;
use belay_drive::launch::{
    self, BelayEnv, LaunchError, LaunchPlan, LaunchPreview, LaunchRequest, Progress, Started, shell_word,
};
use clap::Args;
use serde_json::json;

use super::CommandResult;
use super::budget::BudgetAmount;
use super::decide::user;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Print the command and its environment without starting anything.
    #[arg(long)]
    dry_run: bool,
    /// Budget of this run: `2.50usd`, `500k` (tokens), or both.
    #[arg(long, value_name = "AMOUNT", value_delimiter = ',')]
    budget: Vec<BudgetAmount>,
    /// Do not install hooks for this run.
    #[arg(long)]
    no_hooks: bool,
    /// Do not relay model requests.
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
        return Err(CommandError::usage("--set has no effect on a run: the resident process uses its own settings")
            .hint("use --budget to limit this run, or `belay config set KEY VALUE` to change a setting"));
    }
    let belay = BelayEnv { paths: &context.places, env: &context.env, home: context.global.home.as_deref() };
    let request = LaunchRequest {
        command: args.command.clone(),
        hooks: !args.no_hooks,
        proxy: !args.no_proxy,
        watch: !args.no_watch,
        budget: args.budget.iter().map(|amount| (*amount).into()).collect(),
        operator: user(context),
    };
    let mut plan = LaunchPlan::new(request, belay)?;
    if args.dry_run {
        if !args.no_proxy {
            plan.proxy = Some(match LaunchPlan::running_proxy(&context.places) {
                Some(url) => url,
                None => {
                    let config = context.config(Strictness::Lenient, &[])?.config;
                    format!("http://{}/", config.serve.listen.socket_addr())
                }
            });
        }
        show(context, &plan.preview())?;
        return Ok(ExitStatus::Done);
    }
    let idle_exit = context.config(Strictness::Lenient, &[])?.config.hooks.idle_exit;
    let finished = launch::run(plan, belay, idle_exit, &Printer(&context.out))?;
    Ok(super::result::of_run(context, finished.session.as_ref(), &finished.folder, finished.status.into()))
}

/// Prints the progress of a run to stderr.
struct Printer<'a>(&'a Output);

impl Progress for Printer<'_> {
    fn started(&self, started: &Started<'_>) {
        self.0.info(format!("Belay supervises {}.", started.name));
        if let Some(session) = &started.session {
            self.0.info(format!("  session  {session}"));
        }
        if let Some(url) = started.proxy {
            self.0.info(format!("  page     {url}"));
        }
        for note in started.notes {
            self.0.info(format!("  note     {note}"));
        }
    }

    fn supervision_lost(&self, error: &LaunchError) {
        let text = format!(
            "cannot restart the resident process: {error}. \
             This run is no longer supervised, and its model requests fail"
        );
        self.0.warn(&text, Some("run `belay serve` to see the error, then start the agent again"));
    }
}

/// Prints the command as a shell accepts it.
fn show(context: &Context, preview: &LaunchPreview) -> Result<(), CommandError> {
    let LaunchPreview { program, args, env, session, upstreams, notes, files } = preview;
    if context.out.json {
        let upstreams: Vec<_> = upstreams.iter().map(|(name, url)| json!({ "name": name, "url": url })).collect();
        context.out.json(&json!({
            "program": program, "args": args, "env": env.iter().cloned().collect::<BTreeMap<_, _>>(),
            "session": session, "upstreams": upstreams, "notes": notes, "files": files,
        }))?;
        return Ok(());
    }
    for (name, value) in env {
        context.out.line(format!("{name}={} \\", shell_word(value)))?;
    }
    let program = program.display().to_string();
    let command: Vec<String> = std::iter::once(&program).chain(args).map(|arg| shell_word(arg)).collect();
    context.out.line(command.join(" "))?;
    for path in files {
        context.out.info(format!("written for the duration of the run: {}", path.display()));
    }
    for (name, url) in upstreams {
        context.out.info(format!("requests to {name} are relayed to {url}"));
    }
    for note in notes {
        context.out.info(format!("note: {note}"));
    }
    Ok(())
}
