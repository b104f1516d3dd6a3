//! `belay stop`: stops the resident process and waits until it has exited.

use std::process::Command;
use std::time::{Duration, Instant};

use belay_config::Paths;
use belay_ipc::{Client, ClientError};
use belay_server::instance_lock;
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::operator::{OperatorArgs, require_operator};

/// Longer than the resident process takes to drain.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// How long to watch for a restart: a run starts the resident process again as soon as it has exited.
const RESTART_WINDOW: Duration = Duration::from_secs(1);

const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    #[command(flatten)]
    operator: OperatorArgs,
}

pub(crate) fn run(context: &Context, args: &StopArgs) -> CommandResult {
    require_operator(context, args.operator, "stop", None)?;
    let mut client = match Client::connect(&context.paths, Duration::from_secs(5)) {
        Ok(client) => client,
        Err(ClientError::NotRunning(_)) => {
            if context.out.json {
                context.out.json(&json!({ "stopped": false }))?;
            } else {
                context.out.line("Belay is not running.")?;
            }
            return Ok(ExitStatus::Done);
        }
        Err(error) => return Err(error.into()),
    };
    let pid = client.stop()?.pid;
    drop(client);
    wait_for_exit(&context.paths, pid)?;
    if let Some(restarted) = wait_for_restart(&context.paths, pid) {
        return Err(restarted_error(pid, restarted));
    }
    if context.out.json {
        context.out.json(&json!({ "stopped": true, "pid": pid }))?;
    } else {
        context.out.line(format!("Belay (pid {pid}) has stopped."))?;
    }
    Ok(ExitStatus::Done)
}

/// The pid of the resident process that holds the lock; `None` if none does. A process that is starting has no pid yet.
fn holder(paths: &Paths) -> Option<Option<u32>> {
    let locks = [paths.lock(), instance_lock::runtime_dir_lock(paths.runtime_socket())];
    let held = locks.iter().find(|lock| instance_lock::is_locked(lock).unwrap_or(false))?;
    Some(instance_lock::read(held).map(|info| info.pid))
}

fn wait_for_exit(paths: &Paths, pid: u32) -> Result<(), CommandError> {
    let deadline = Instant::now() + STOP_TIMEOUT;
    // The lock file names the last holder until the next one has started.
    while holder(paths) == Some(Some(pid)) && is_alive(pid) {
        if Instant::now() > deadline {
            return Err(CommandError::new(format!("the resident process (pid {pid}) did not stop in time"))
                .hint(format!("run `kill {pid}`; acknowledged events are not lost")));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// The pid of the resident process that a run has started instead of `pid`.
fn wait_for_restart(paths: &Paths, pid: u32) -> Option<u32> {
    // Every run has a directory there.
    let has_runs = || std::fs::read_dir(paths.state().join("runs")).is_ok_and(|mut runs| runs.next().is_some());
    let deadline = Instant::now() + RESTART_WINDOW;
    loop {
        match holder(paths) {
            Some(Some(new)) if new != pid => return Some(new),
            None if !has_runs() => return None,
            _ if Instant::now() > deadline => return None,
            _ => std::thread::sleep(POLL_INTERVAL),
        }
    }
}

fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

fn restarted_error(old: u32, new: u32) -> CommandError {
    let error = |who: &str| {
        CommandError::new(format!(
            "{who} keeps the resident process running: pid {old} has stopped, pid {new} replaced it"
        ))
    };
    match parent(new) {
        Some((pid, command)) => error(&format!("`{command}` (pid {pid})"))
            .hint(format!("exit its agent, or end the run with `kill {pid}`; then repeat `belay stop`")),
        None => error("a `belay run`").hint("exit its agent; then repeat `belay stop`"),
    }
}

/// The process that started another one, if it still runs: pid and command line.
fn parent(pid: u32) -> Option<(u32, String)> {
    let output = |pid: u32, column: &str| {
        let listed = Command::new("ps").args(["-o", column, "-p", &pid.to_string()]).output().ok()?;
        Some(String::from_utf8_lossy(&listed.stdout).trim().to_owned()).filter(|text| !text.is_empty())
    };
    // An orphan belongs to the first process, which started nothing.
    let parent: u32 = output(pid, "ppid=")?.parse().ok().filter(|parent| *parent > 1)?;
    let command = output(parent, "args=")?;
    let mut words = command.split_whitespace();
    let program = words.next().map(|path| path.rsplit('/').next().unwrap_or(path))?;
    let words: Vec<&str> = words.take(3).collect();
    Some((parent, format!("{program} {}", words.join(" "))))
}
