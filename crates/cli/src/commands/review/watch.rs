//! Follows a task in the terminal. Ctrl-C asks whether to detach or to cancel.

use std::io::{BufRead, IsTerminal};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use belay_ipc::ReviewDecision;
use belay_ipc::views::ReviewView;
use belay_review_runner::read;
use belay_review_runner::task_dir::TaskDir;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::super::CommandResult;
use super::super::decide::user;
use super::{connect, decide, exit_status, phase_name, show};
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;

/// How often the files of the task are read.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// What has been printed.
#[derive(Debug, Default)]
struct Shown {
    status: String,
    /// Attempt whose output is shown, and its lines so far.
    output: (u32, usize),
    gates: usize,
    reviews: usize,
    builds: usize,
}

pub(super) fn run(context: &Context, dir: &TaskDir) -> CommandResult {
    let (interrupted, signals) = signals()?;
    let mut shown = Shown::default();
    let view = read::view(dir)?;
    context.out.info(format!("{}  {}", view.summary.id, view.summary.title));
    if !view.summary.phase.has_ended() {
        // A task that nobody runs would be watched forever.
        drop(connect(context)?);
    }
    let ended = loop {
        let view = read::view(dir)?;
        shown.print(context, dir, &view);
        if view.summary.phase.has_ended() {
            break view;
        }
        match interrupted.recv_timeout(POLL_INTERVAL) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => match ask(context, &view.summary.id)? {
                Choice::Continue => {}
                Choice::Detach => {
                    context
                        .out
                        .info(format!("The task continues; `belay review watch {}` follows it.", view.summary.id));
                    signals.close();
                    return Ok(ExitStatus::Done);
                }
                Choice::Cancel => {
                    let cancelled = decide::decide_as(context, &view.summary.id, ReviewDecision::Cancel, user(context));
                    // It may have ended while the question was open.
                    if !read::view(dir)?.summary.phase.has_ended() {
                        cancelled?;
                    }
                }
            },
        }
    };
    signals.close();
    finish(context, &ended)?;
    Ok(exit_status(ended.summary.phase))
}

/// Notices of signals, on a thread of their own.
fn signals() -> Result<(Receiver<()>, signal_hook::iterator::Handle), CommandError> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let handle = signals.handle();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if sender.send(()).is_err() {
                return;
            }
        }
    });
    Ok((receiver, handle))
}

enum Choice {
    Continue,
    Detach,
    Cancel,
}

/// Without a terminal nobody can answer, and the task must not be lost.
fn ask(context: &Context, id: &str) -> Result<Choice, CommandError> {
    if !std::io::stdin().is_terminal() {
        return Ok(Choice::Detach);
    }
    context.out.notice(&format!("\n[d]etach and let {id} continue, [c]ancel it, or press Enter to go on watching?"));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(match answer.trim().to_lowercase().as_str() {
        "c" | "cancel" => Choice::Cancel,
        "d" | "detach" => Choice::Detach,
        _ => Choice::Continue,
    })
}

impl Shown {
    /// Prints what is new.
    fn print(&mut self, context: &Context, dir: &TaskDir, view: &ReviewView) {
        let out = &context.out;
        if out.json {
            return;
        }
        self.print_output(context, dir);
        let builds = view.rounds.iter().filter_map(|round| round.built.as_ref().map(|built| (round.number, built)));
        for (round, built) in builds.skip(self.builds) {
            self.builds += 1;
            out.info(format!("  round {round}: {} files changed, +{} -{}", built.files, built.added, built.removed));
        }
        for gate in view.rounds.iter().flat_map(|round| &round.gates).skip(self.gates) {
            self.gates += 1;
            let result = if gate.passed { "passed" } else { "failed" };
            out.info(format!("  `{}` {result}: {}", gate.command, gate.summary));
        }
        for review in view.rounds.iter().flat_map(|round| &round.reviews).skip(self.reviews) {
            self.reviews += 1;
            out.info(format!("  {}", show::reviewer_line(review)));
        }
        if self.status != view.summary.status {
            self.status.clone_from(&view.summary.status);
            out.info(format!("{}: {}", phase_name(view.summary.phase), self.status));
        }
    }

    /// Prints the progress of the agent that runs.
    fn print_output(&mut self, context: &Context, dir: &TaskDir) {
        let Some((attempt, lines)) = read::output(dir) else { return };
        let seen = if self.output.0 == attempt { self.output.1 } else { 0 };
        for line in lines.iter().skip(seen) {
            context.out.info(format!("    {line}"));
        }
        self.output = (attempt, lines.len());
    }
}

/// Prints the result.
fn finish(context: &Context, view: &ReviewView) -> Result<(), CommandError> {
    let out = &context.out;
    if out.json {
        out.json(view)?;
        return Ok(());
    }
    out.info("");
    for line in show::lines(view) {
        out.line(line)?;
    }
    let id = &view.summary.id;
    use belay_ipc::views::ReviewPhase;
    match view.summary.phase {
        ReviewPhase::Done if !view.summary.landed => {
            out.info(format!("`belay review land {id}` brings the result into the project."))
        }
        ReviewPhase::NeedsAttention => {
            out.info(format!(
                "`belay review answer {id} --fix TEXT` or `--done` decides; `belay review resume {id}` tries again."
            ));
        }
        ReviewPhase::Failed => out.info(format!("`belay review retry {id}` tries the last step again.")),
        _ => {}
    }
    Ok(())
}
