//! `belay status`: shows the resident process and the totals of the store.

use std::time::Duration;

use belay_clock::now;
use belay_core::format;
use belay_ipc::{Client, ClientError, StatusResponse, TotalsRequest};
use belay_server::token::ApiToken;
use clap::Args;
use serde_json::json;

use super::CommandResult;
use crate::backend::Backend;
use crate::context::Context;
use crate::exit_status::ExitStatus;
use crate::format::relative_past;
use crate::operator::{OperatorArgs, require_operator};

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Also show the token that decisions over HTTP require.
    #[arg(long)]
    token: bool,
    #[command(flatten)]
    operator: OperatorArgs,
}

pub(crate) fn run(context: &Context, args: &StatusArgs) -> CommandResult {
    if args.token {
        require_operator(context, args.operator, "status --token", None)?;
    }
    let resident = match Client::connect(&context.paths, Duration::from_secs(5)) {
        Ok(mut client) => Some(client.status(args.token)?),
        Err(ClientError::NotRunning(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let config_problems = context.config_problems()?;
    let totals = Backend::open(context)?.read(&TotalsRequest {})?;
    let token = match &resident {
        Some(status) => status.token.clone().map(ApiToken::from),
        None => ApiToken::load(&context.paths.token()).filter(|_| args.token),
    };
    let state = context.paths.state().display().to_string();
    if context.out.json {
        let running = resident.is_some();
        context.out.json(&json!({
            "running": running, "resident": resident, "state": state, "totals": totals,
            "token": token.as_ref().map(ApiToken::expose_secret), "proxy_token": token.as_ref().map(ApiToken::proxy_token),
            "config_problems": config_problems,
        }))?;
        return Ok(ExitStatus::Done);
    }
    match &resident {
        Some(status) => show_resident(context, status, &config_problems)?,
        None => {
            context.out.line("Belay is not running.")?;
            context.out.info("Start it with `belay serve`. Commands and hooks also work without it.");
        }
    }
    context.out.line(format!("state     {state}"))?;
    if let Some(totals) = totals {
        let sessions: Vec<String> = totals.sessions.iter().map(|(state, count)| format!("{count} {state}")).collect();
        let sessions = if sessions.is_empty() { "none yet".to_owned() } else { sessions.join(", ") };
        context.out.line(format!("sessions  {sessions}"))?;
        context.out.line(format!(
            "recorded  {} events, {} tool calls, {} tokens, {}",
            format::compact(totals.events),
            format::compact(totals.calls),
            format::compact(totals.tokens),
            format::cost(totals.cost_micros, totals.unpriced_micros)
        ))?;
        if totals.open_incidents > 0 {
            context.out.line(format!("incidents {} open; `belay incidents` lists them", totals.open_incidents))?;
        }
    }
    if let Some(token) = token {
        context.out.line(format!("token     {}", token.expose_secret()))?;
        context
            .out
            .line(format!("proxy     {} (token for model requests from other machines)", token.proxy_token()))?;
    }
    Ok(ExitStatus::Done)
}

/// `known`: problems that this command has shown already.
fn show_resident(context: &Context, status: &StatusResponse, known: &[String]) -> std::io::Result<()> {
    let since = relative_past(status.started_at, now());
    context.out.line(format!("Belay {} is running (pid {}, started {since}).", status.version, status.pid))?;
    if let Some(url) = &status.url {
        context.out.line(format!("page      {url}"))?;
    }
    context.out.line(format!("socket    {}", status.socket))?;
    for (at, login) in status.logins.iter().enumerate() {
        let label = if at == 0 { "browsers" } else { "" };
        let used = relative_past(login.used_at, now());
        let asked_by = if login.asked_by.is_empty() { "an unknown process" } else { &login.asked_by };
        context.out.line(format!("{label:<9} {} used {used}; its link was for {asked_by}", login.id))?;
    }
    for notice in status.notices.iter().filter(|notice| !known.iter().any(|known| notice.contains(known))) {
        context.out.warn(notice.trim_end_matches('.'), None);
    }
    if let Some(problem) = &status.health.problem {
        context.out.warn(
            &format!("{problem}. Decisions continue in memory; {} events wait to be written", status.health.spooled),
            status.health.hint.as_deref(),
        );
    }
    Ok(())
}
