//! `belay status`: does it run, is what it answers kept, how much has it seen.

use std::time::Duration;

use belay_ipc::{Client, ClientError, StatusResponse, TotalsRequest};
use belay_server::token::ApiToken;
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::exit_status::ExitStatus;
use crate::format::{count, money, now, relative_past};

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Also show the token a decision over HTTP needs.
    #[arg(long)]
    token: bool,
}

pub(crate) fn run(context: &Context, args: &StatusArgs) -> CommandResult {
    let resident = match Client::connect(&context.places, Duration::from_secs(5)) {
        Ok(mut client) => Some(client.status(args.token)?),
        Err(ClientError::NotRunning(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let totals = Backend::open(context)?.read(&TotalsRequest {})?;
    let token = match &resident {
        Some(status) => status.token.clone(),
        None => {
            ApiToken::load(&context.places.token()).filter(|_| args.token).map(|token| token.expose_secret().to_owned())
        }
    };
    let state = context.places.state().display().to_string();
    if context.out.json {
        let running = resident.is_some();
        context.out.json(&json!({
            "running": running, "resident": resident, "state": state, "totals": totals, "token": token,
        }))?;
        return Ok(ExitStatus::Done);
    }
    match &resident {
        Some(status) => show_resident(context, status)?,
        None => {
            context.out.line("Belay does not run.")?;
            context.out.info("Start it with `belay serve`. Commands and hooks work without it, too.");
        }
    }
    context.out.line(format!("state     {state}"))?;
    if let Some(totals) = totals {
        let sessions: Vec<String> = totals.sessions.iter().map(|(state, count)| format!("{count} {state}")).collect();
        let sessions = if sessions.is_empty() { "none yet".to_owned() } else { sessions.join(", ") };
        context.out.line(format!("sessions  {sessions}"))?;
        context.out.line(format!(
            "seen      {} events, {} tool calls, {} tokens, {}",
            count(totals.events),
            count(totals.calls),
            count(totals.tokens),
            money(totals.cost_micros)
        ))?;
        if totals.open_incidents > 0 {
            context.out.line(format!("incidents {} open; `belay incidents` lists them", totals.open_incidents))?;
        }
    }
    if let Some(token) = token {
        context.out.line(format!("token     {token}"))?;
    }
    Ok(ExitStatus::Done)
}

fn show_resident(context: &Context, status: &StatusResponse) -> std::io::Result<()> {
    let since = relative_past(status.started_at, now());
    context.out.line(format!("Belay {} runs (pid {}, started {since}).", status.version, status.pid))?;
    if let Some(url) = &status.url {
        context.out.line(format!("page      {url}"))?;
    }
    context.out.line(format!("socket    {}", status.socket))?;
    if let Some(problem) = &status.health.problem {
        context.out.warn(
            &format!("{problem}. Decisions go on in memory; {} events wait to be written", status.health.spooled),
            status.health.hint.as_deref(),
        );
    }
    Ok(())
}
