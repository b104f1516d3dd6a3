//! `belay run`: runs an agent under supervision.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use belay_agents::install::quote;
use belay_config::Strictness;
use belay_config::env::{VARIABLES, Variable};
use belay_core::Rules;
use belay_core::prices::ModelPrice;
use belay_core::rules::UnknownModel;
use belay_core::session::Budget;
use belay_drive::launch::{self, LaunchError, LaunchPlan, LaunchPreview, LaunchRequest, Progress, Started};
use clap::Args;
use serde_json::json;

use super::CommandResult;
use super::budget::rules_here;
use super::decide::user;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::operator::{CallerTree, OperatorArgs, require_operator};
use crate::output::Output;

/// Settings that may differ between runs.
const RUN_SETTINGS: &str = "detect.";

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Print the command and its environment without starting anything.
    #[arg(long)]
    dry_run: bool,
    /// Observe only: record interventions in this run without carrying them out.
    #[arg(long)]
    observe: bool,
    /// Budget of this run: `2.50usd`, `500k` (tokens), or both.
    #[arg(long, value_name = "AMOUNT")]
    budget: Vec<Budget>,
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
    let belay = context.belay_env();
    let settings = run_settings(context, args.observe)?;
    let request = LaunchRequest {
        command: args.command.clone(),
        program: args.command.first().and_then(|agent| configured_program(context, agent)),
        dir: None,
        hooks: !args.no_hooks,
        proxy: !args.no_proxy,
        watch: !args.no_watch,
        budget: args.budget.iter().copied().collect(),
        settings,
        operator: user(context),
    };
    let mut plan = LaunchPlan::new(request, belay)?;
    if args.dry_run {
        if !args.no_proxy {
            plan.proxy = Some(match LaunchPlan::running_proxy(&context.paths) {
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
    let rules = rules_here(context)?;
    let limited = rules.budget.has_money_limit() || args.budget.iter().any(|budget| budget.cost_micros.is_some());
    if let Some(model) = named_model(&args.command).filter(|model| limited && !has_price(model, &rules)) {
        warn_of_unpriced_model(context, model, &rules);
    }
    let idle_exit = context.config(Strictness::Lenient, &[])?.config.hooks.idle_exit;
    let finished = launch::run(plan, belay, idle_exit, &Printer(&context.out))?;
    if limited
        && let Some(row) = finished.session.as_ref().and_then(|key| context.store().ok()??.session(key).ok()?)
        && let Some(model) = row.details.facts.unpriced_model.as_deref()
    {
        warn_of_unpriced_model(context, model, &rules);
    }
    Ok(super::result::of_run(context, finished.session.as_ref(), &finished.dir, finished.status.into()))
}

/// Settings that hold for one run: those of `--set`, and of variables in the person's environment.
pub(super) fn run_settings(context: &Context, observe: bool) -> Result<BTreeMap<String, String>, CommandError> {
    let mut chosen = BTreeMap::new();
    for (_, key, value) in context.flags()? {
        if !key.starts_with(RUN_SETTINGS) {
            return Err(CommandError::usage(format!("--set {key}: this setting does not apply to one run"))
                .hint("settings of `detect` do; change others with `belay config set KEY VALUE`"));
        }
        chosen.insert(key, value);
    }
    if observe {
        chosen.insert("detect.dry_run".to_owned(), "true".to_owned());
    }
    if !chosen.is_empty() {
        require_operator(context, OperatorArgs::default(), "run with --set or --observe", None)?;
    }
    // An invalid value is an error now.
    context.config(Strictness::Lenient, &[])?;
    let from_env = |variable: &Variable| {
        let key = variable.key.filter(|key| key.starts_with(RUN_SETTINGS))?;
        Some((key.to_owned(), context.env.text(variable.name)?.to_owned()))
    };
    // The environment of an agent belongs to the repository that it works in.
    let is_person = CallerTree::read(&context.env).agent().is_none();
    let mut settings: BTreeMap<_, _> = VARIABLES.iter().filter(|_| is_person).filter_map(from_env).collect();
    settings.extend(chosen);
    if settings.get("detect.dry_run").is_some_and(|value| value == "true" || value == "1") {
        context.out.info("Belay only observes this run: it denies and pauses nothing.");
    }
    Ok(settings)
}

/// The program of an agent, if `agents.<id>.program` names one.
pub(super) fn configured_program(context: &Context, agent: &OsStr) -> Option<PathBuf> {
    let agent = belay_agents::find(agent.to_str()?)?;
    context.config(Strictness::Lenient, &[]).ok()?.config.agent_program(agent.id)
}

/// The model that the command line names.
fn named_model(command: &[OsString]) -> Option<&str> {
    let mut args = command.iter().skip(1).filter_map(|arg| arg.to_str());
    while let Some(arg) = args.next() {
        match arg {
            "-m" | "--model" => return args.next(),
            _ => {
                if let Some(model) = arg.strip_prefix("--model=") {
                    return Some(model);
                }
            }
        }
    }
    None
}

fn has_price(model: &str, rules: &Rules) -> bool {
    ModelPrice::for_model(model, &rules.prices).is_some()
}

/// Warns that a budget in US dollars meets a model without a price.
fn warn_of_unpriced_model(context: &Context, model: &str, rules: &Rules) {
    let effect = match rules.budget.unknown_model {
        UnknownModel::Estimate => {
            format!("the budget assumes {}", ModelPrice::assumed_for(Some(model)).phrase())
        }
        UnknownModel::Refuse => "the session is paused before it uses the model".to_owned(),
        UnknownModel::Ignore => "the budget in US dollars does not limit it".to_owned(),
    };
    let hint = "add its price to your configuration ([[detect.prices]]), or limit tokens (--budget 500k)";
    context.out.warn(&format!("{model} has no price; {effect}"), Some(hint));
}

/// Prints the progress of a run to stderr.
pub(super) struct Printer<'a>(pub(super) &'a Output);

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
             This run is not supervised and its model requests fail until it runs again; Belay keeps trying"
        );
        self.0.warn(&text, Some("run `belay serve` to see the error"));
    }

    fn supervision_restored(&self) {
        self.0.info("Belay supervises this run again.");
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
        context.out.line(format!("{name}={} \\", quote(value)))?;
    }
    let program = program.display().to_string();
    let command: Vec<String> = std::iter::once(&program).chain(args).map(|arg| quote(arg)).collect();
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
