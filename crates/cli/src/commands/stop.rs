//! `belay stop`: ask the resident process to leave, and wait until it has.

use std::time::{Duration, Instant};

use belay_server::instance;
use belay_server::{Client, ClientError};
use clap::Args;
use serde_json::json;

use super::Ended;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit::Exit;

/// Longer than it takes its time to drain.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Args)]
pub(crate) struct StopArgs {}

pub(crate) fn run(context: &Context, _args: &StopArgs) -> Ended {
    let mut client = match Client::connect(&context.places, Duration::from_secs(5)) {
        Ok(client) => client,
        Err(ClientError::Absent(_)) => {
            if context.out.json {
                context.out.json(&json!({ "stopped": false }))?;
            } else {
                context.out.line("Belay does not run.")?;
            }
            return Ok(Exit::Done);
        }
        Err(error) => return Err(error.into()),
    };
    let pid = client.stop()?.pid;
    let deadline = Instant::now() + PATIENCE;
    let locks = [context.places.lock(), instance::far_lock(context.places.far_socket())];
    while locks.iter().any(|lock| instance::is_held(lock).unwrap_or(false)) {
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
    Ok(Exit::Done)
}
