//! `belay exec`: runs one prompt without a terminal, under supervision.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use belay_agents::headless::{Access, HeadlessEvent};
use belay_config::{DurationSetting, Strictness};
use belay_core::format;
use belay_core::session::Budget;
use belay_drive::headless::{self, CancelHandle, Ending, HeadlessResult, HeadlessRun, Observer};
use belay_drive::launch::{LaunchError, Progress, Started};
use clap::{Args, ValueEnum};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::CommandResult;
use super::decide::user;
use super::run::{Printer, configured_program, run_settings};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// claude, codex, gemini, copilot, opencode, qwen, or any program that reads a prompt from stdin.
    agent: OsString,
    /// The prompt; `-` reads it from stdin.
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    prompt: Option<String>,
    /// Read the prompt from a file.
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Working directory.
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// What the agent may do; known agents only [default: workspace].
    #[arg(long, value_enum)]
    access: Option<AccessArg>,
    /// The agent's model.
    #[arg(long, short)]
    model: Option<String>,
    /// Id of the agent's session to continue.
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    /// JSON schema of the answer, for agents that enforce one (claude, codex).
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// End the run after this time.
    #[arg(long, value_name = "TIME")]
    timeout: Option<DurationSetting>,
    /// Observe only: record interventions in this run without carrying them out.
    #[arg(long)]
    observe: bool,
    /// Budget of this run: `2.50usd`, `500k` (tokens), or both.
    #[arg(long, value_name = "AMOUNT")]
    budget: Vec<Budget>,
    /// Further arguments for the agent.
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AccessArg {
    /// Read files only.
    ReadOnly,
    /// Edit files and run commands, in the agent's own sandbox if it has one.
    Workspace,
    /// No sandbox and no prompts.
    Full,
}

impl From<AccessArg> for Access {
    fn from(access: AccessArg) -> Self {
        match access {
            AccessArg::ReadOnly => Self::ReadOnly,
            AccessArg::Workspace => Self::Workspace,
            AccessArg::Full => Self::Full,
        }
    }
}

/// Text in the JSON of a run. The rest is left out.
const MAX_PROGRESS_BYTES: usize = 32 * 1024 * 1024;
/// A larger prompt or schema is refused.
const MAX_PROMPT_BYTES: u64 = 16 * 1024 * 1024;

pub(crate) fn run(context: &Context, args: &ExecArgs) -> CommandResult {
    let prompt = read_prompt(args.prompt.as_deref(), args.file.as_deref())?;
    if prompt.trim().is_empty() {
        return Err(CommandError::usage("the prompt is empty"));
    }
    let dir = args.dir.canonicalize().map_err(|error| {
        CommandError::new(format!("cannot access the directory {}", args.dir.display())).cause(error)
    })?;
    let headless_run = HeadlessRun {
        agent: args.agent.clone(),
        program: configured_program(context, &args.agent),
        args: args.args.clone(),
        prompt,
        dir,
        access: args.access.map(Into::into),
        model: args.model.clone(),
        resume: args.resume.clone(),
        schema: args.schema.as_deref().map(schema).transpose()?,
        timeout: args.timeout.and_then(|timeout| timeout.get()),
        budget: args.budget.iter().copied().collect(),
        settings: run_settings(context, args.observe)?,
        operator: user(context),
    };
    let belay = context.belay_env();
    let idle_exit = context.config(Strictness::Lenient, &[])?.config.hooks.idle_exit;
    let cancel = CancelHandle::default();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let signals_handle = signals.handle();
    let view =
        ProgressView { context, printer: Printer(&context.out), line: Mutex::default(), printed: AtomicUsize::new(0) };
    let canceller = cancel.clone();
    let listener = std::thread::spawn(move || signals.forever().for_each(|_| canceller.cancel()));
    let result = headless::run(&headless_run, belay, idle_exit, &view, &cancel);
    signals_handle.close();
    let _ = listener.join();
    let result = result?;
    view.end_line();
    report(context, &result)?;
    Ok(status(&result.ending))
}

/// A prompt from the command line, from stdin (`-`) or from a file.
pub(super) fn read_prompt(prompt: Option<&str>, file: Option<&Path>) -> Result<String, CommandError> {
    match (prompt, file) {
        (Some("-"), _) => {
            let mut text = String::new();
            io::stdin().take(MAX_PROMPT_BYTES + 1).read_to_string(&mut text)?;
            if text.len() as u64 > MAX_PROMPT_BYTES {
                return Err(CommandError::usage(format!("the prompt is larger than {MAX_PROMPT_BYTES} bytes")));
            }
            Ok(text)
        }
        (Some(prompt), _) => Ok(prompt.to_owned()),
        (None, Some(file)) => read(file, "prompt"),
        (None, None) => Err(CommandError::usage("give a prompt, or a file with --file")),
    }
}

fn schema(file: &Path) -> Result<String, CommandError> {
    let text = read(file, "schema")?;
    serde_json::from_str::<serde_json::Value>(&text)
        .map_err(|error| CommandError::new(format!("the schema {} is not JSON", file.display())).cause(error))?;
    Ok(text)
}

fn read(file: &Path, what: &str) -> Result<String, CommandError> {
    belay_fs::read_regular_text(file, belay_fs::Links::Follow, MAX_PROMPT_BYTES)
        .map_err(|error| CommandError::new(format!("cannot read the {what} {}", file.display())).cause(error))
}

/// Prints progress to stderr, or every event as a JSON line to stdout.
struct ProgressView<'a> {
    context: &'a Context,
    printer: Printer<'a>,
    /// The line that the agent is writing. Some agents send it word by word.
    line: Mutex<String>,
    /// Bytes of text that were printed as JSON.
    printed: AtomicUsize,
}

impl ProgressView<'_> {
    /// Whether an event is printed as JSON. A program that floods its output must not fill the disk of the reader; what a
    /// run costs and how it ends is always printed.
    fn fits(&self, event: &HeadlessEvent) -> bool {
        let length = match event {
            HeadlessEvent::Text { text } | HeadlessEvent::TextDelta { text } => text.len(),
            HeadlessEvent::ToolCall { tool, input } => tool.len() + input.len(),
            _ => return true,
        };
        self.printed.fetch_add(length, Ordering::Relaxed) + length <= MAX_PROGRESS_BYTES
    }

    /// Prints the lines that are complete.
    fn print_lines(&self, text: &str) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.push_str(text);
        if let Some((complete, rest)) = line.rsplit_once('\n') {
            self.context.out.info(complete);
            *line = rest.to_owned();
        }
    }

    /// Prints what the agent has written of the current line.
    fn end_line(&self) {
        let line = std::mem::take(&mut *self.line.lock().unwrap_or_else(PoisonError::into_inner));
        if !line.trim().is_empty() {
            self.context.out.info(line.trim_end());
        }
    }
}

impl Progress for ProgressView<'_> {
    fn started(&self, started: &Started<'_>) {
        self.printer.started(started);
    }

    fn supervision_lost(&self, error: &LaunchError) {
        self.printer.supervision_lost(error);
    }

    fn supervision_restored(&self) {
        self.printer.supervision_restored();
    }
}

impl Observer for ProgressView<'_> {
    fn event(&self, event: &HeadlessEvent) {
        let out = &self.context.out;
        if out.json {
            if self.fits(event) {
                // A reader that is gone does not stop the agent.
                let _ = out.json(event);
            }
            return;
        }
        if let HeadlessEvent::TextDelta { text } = event {
            return self.print_lines(text);
        }
        self.end_line();
        match event {
            HeadlessEvent::Text { text } => out.info(text.trim()),
            HeadlessEvent::ToolCall { tool, input } => out.info(format!("  {tool}: {input}")),
            HeadlessEvent::PermissionDenied { tool, reason } => out.info(format!("  {tool} was refused: {reason}")),
            HeadlessEvent::Limit { message, .. } => out.info(format!("  limit: {message}")),
            HeadlessEvent::Error { message } => out.info(format!("  error: {message}")),
            HeadlessEvent::Session { .. } | HeadlessEvent::Usage { .. } | HeadlessEvent::TextDelta { .. } => {}
        }
    }
}

/// Prints the answer to stdout, and how the run ended to stderr.
fn report(context: &Context, result: &HeadlessResult) -> Result<(), CommandError> {
    let out = &context.out;
    if out.json {
        out.json(&json!({ "type": "result", "result": result }))?;
        return Ok(());
    }
    // On a terminal, the answer was the last thing that the progress showed.
    let is_shown = !context.global.quiet && io::stdout().is_terminal() && io::stderr().is_terminal();
    if !result.answer.is_empty() && !is_shown {
        // Data for a file or a program is printed as it is.
        match io::stdout().is_terminal() {
            true => out.line(&result.answer)?,
            false => writeln!(io::stdout(), "{}", result.answer)?,
        }
    }
    let cost = result.micros.map(|micros| format!(", {}", format::dollars(micros))).unwrap_or_default();
    let seconds = result.duration_ms / 1000;
    out.info(format!("{} after {seconds} s, {}{cost}.", outcome(&result.ending), format::tokens(result.usage.total())));
    match &result.ending {
        Ending::Refused { why } => out.notice(&format!("The agent needs a person: {why}")),
        Ending::Limited { message, .. } => out.notice(message),
        Ending::Held { reason, .. } => out.notice(reason),
        Ending::Crashed { last_output, .. } if !last_output.is_empty() => out.notice(last_output),
        _ => {}
    }
    Ok(())
}

fn outcome(ending: &Ending) -> String {
    match ending {
        Ending::Finished => "Finished".to_owned(),
        Ending::Refused { .. } => "Refused".to_owned(),
        Ending::Limited { until: Some(until), .. } => format!("Limited until {until}"),
        Ending::Limited { until: None, .. } => "Limited".to_owned(),
        Ending::Held { state, .. } => format!("The session was {state}: stopped"),
        Ending::TimedOut => "Timed out".to_owned(),
        Ending::Cancelled => "Cancelled".to_owned(),
        Ending::Crashed { signal: Some(signal), .. } => format!("Killed by signal {signal}"),
        Ending::Crashed { status, .. } => format!("Failed with status {}", status.unwrap_or(1)),
    }
}

fn status(ending: &Ending) -> ExitStatus {
    match ending {
        Ending::Finished => ExitStatus::Done,
        Ending::Refused { .. } | Ending::Limited { .. } => ExitStatus::NeedsAttention,
        Ending::Held { .. } => ExitStatus::Held,
        Ending::Cancelled => ExitStatus::Cancelled,
        Ending::TimedOut | Ending::Crashed { .. } => ExitStatus::Failed,
    }
}
