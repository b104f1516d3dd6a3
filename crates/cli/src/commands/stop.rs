//! `belay stop`: ask the resident process to leave, and wait until it has.

use std::time::{Duration, Instant};

use belay_ipc::{Client, ClientError};
use belay_server::instance_lock;
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;

/// Longer than it takes its time to drain.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, Args)]
pub(crate) struct StopArgs {}

pub(crate) fn run(context: &Context, _args: &StopArgs) -> CommandResult {
    let mut client = match Client::connect(&context.places, Duration::from_secs(5)) {
        Ok(client) => client,
        Err(ClientError::NotRunning(_)) => {
            if context.out.json {
                context.out.json(&json!({ "stopped": false }))?;
            } else {
                context.out.line("Belay does not run.")?;
            }
            return Ok(ExitStatus::Done);
        }
        Err(error) => return Err(error.into()),
    };
    let pid = client.stop()?.pid;
    let deadline = Instant::now() + STOP_TIMEOUT;
    let locks = [context.places.lock(), instance_lock::runtime_dir_lock(context.places.runtime_socket())];
    while locks.iter().any(|lock| instance_lock::is_locked(lock).unwrap_or(false)) {
        if Instant::now() > deadline {
            return Err(CommandError::new(format!("the resident process (pid {pid}) was asked to leave and has not"))
                .hint(format!("end it with `kill {pid}`; nothing acknowledged is lost")));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    if context.out.json {
        context.out.json(&json!({ "stopped": true, "pid": pid }))?;
    } else {
        context.out.line(format!("Belay (pid {pid}) has left."))?;
    }
    Ok(ExitStatus::Done)
}
