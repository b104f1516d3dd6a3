//! `belay approvals`, `belay approve` and `belay deny`: permission prompts of agents.

use std::time::Duration;

use belay_clock::now;
use belay_config::Strictness;
use belay_core::SessionKey;
use belay_core::event::PermissionAnswer;
use belay_ipc::views::PendingApproval;
use belay_ipc::{AnswerRequest, AnswerResponse, Client, ClientError};
use clap::Args;
use serde_json::json;

use super::CommandResult;
use super::decide::user;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::format::{relative_future, relative_past};
use crate::operator::{OperatorArgs, require_operator};

/// `apr-` and eight digits.
const MIN_ID_BYTES: usize = 12;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// Prompt, as `belay approvals` lists it; at least its first 12 characters.
    id: String,
    #[command(flatten)]
    operator: OperatorArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// Prompt, as `belay approvals` lists it; at least its first 12 characters.
    id: String,
    /// Reason; the agent reads it.
    #[arg(long, short = 'm', default_value = "", value_name = "TEXT")]
    why: String,
    #[command(flatten)]
    operator: OperatorArgs,
}

pub(crate) fn list(context: &Context, _: &ApprovalsArgs) -> CommandResult {
    let pending = match connect(context).and_then(|mut client| client.approvals()) {
        // Only the resident process offers prompts.
        Err(ClientError::NotRunning(_)) => Vec::new(),
        other => other?,
    };
    if context.out.json {
        context.out.json(&json!({ "approvals": pending }))?;
        return Ok(ExitStatus::Done);
    }
    if pending.is_empty() {
        context.out.info("No permission prompt waits for an answer here.");
        if !context.config(Strictness::Lenient, &[])?.config.approvals.enabled {
            context.out.info("Approvals are off; `belay config set approvals.enabled true` turns them on.");
        }
        return Ok(ExitStatus::Done);
    }
    let now = now();
    for prompt in &pending {
        let PendingApproval { id, session, tool, text, cwd, asked_at, until, .. } = prompt;
        let place = cwd.as_ref().map_or_else(String::new, |cwd| format!(" in {cwd}"));
        context.out.line(format!("{id}  {session} asks to use {tool}{place}"))?;
        for line in text.lines() {
            context.out.line(format!("    {line}"))?;
        }
        let (asked, ends) = (relative_past(*asked_at, now), relative_future(*until, now));
        context.out.line(format!("    asked {asked}; the offer ends {ends}"))?;
    }
    context.out.info("`belay approve ID` allows a call once, `belay deny ID` denies it.");
    Ok(ExitStatus::Done)
}

pub(crate) fn approve(context: &Context, args: &ApproveArgs) -> CommandResult {
    answer(context, &args.id, PermissionAnswer::Allow, "", args.operator)
}

pub(crate) fn deny(context: &Context, args: &DenyArgs) -> CommandResult {
    answer(context, &args.id, PermissionAnswer::Deny, &args.why, args.operator)
}

fn answer(context: &Context, id: &str, answer: PermissionAnswer, why: &str, operator: OperatorArgs) -> CommandResult {
    let mut client = connect(context)?;
    let pending = client.approvals()?;
    // The id derives from what was shown. A shorter part of it could name a prompt that nobody has seen.
    if id.len() < MIN_ID_BYTES {
        return Err(CommandError::usage(format!(
            "{id:?} is too short; give at least {MIN_ID_BYTES} characters of the id"
        )));
    }
    let mut matching = pending.iter().filter(|prompt| prompt.id.starts_with(id));
    let prompt = match (matching.next(), matching.next()) {
        (Some(prompt), None) => Some(prompt),
        (Some(_), Some(_)) => return Err(CommandError::new(format!("{id} matches several permission prompts"))),
        // The resident process knows how it ended.
        (None, _) => None,
    };
    let session = prompt.and_then(|prompt| SessionKey::parse(&prompt.session));
    let id = prompt.map_or(id, |prompt| &prompt.id);
    let hash = prompt.map(|prompt| prompt.hash.as_str()).unwrap_or_default();
    let response = send(context, operator, session.as_ref(), Answer { id, hash, answer, why })?;
    if context.out.json {
        context.out.json(&response)?;
        return Ok(ExitStatus::Done);
    }
    context.out.line(sentence(&response))?;
    for line in response.approval.text.lines() {
        context.out.line(format!("    {line}"))?;
    }
    Ok(ExitStatus::Done)
}

/// An answer to a prompt.
pub(super) struct Answer<'a> {
    pub(super) id: &'a str,
    /// Hash of what was shown.
    pub(super) hash: &'a str,
    pub(super) answer: PermissionAnswer,
    pub(super) why: &'a str,
}

/// Answers a prompt. Only a person may.
pub(super) fn send(
    context: &Context,
    operator: OperatorArgs,
    session: Option<&SessionKey>,
    answer: Answer<'_>,
) -> Result<AnswerResponse, CommandError> {
    let command = match answer.answer {
        PermissionAnswer::Allow => "approve",
        PermissionAnswer::Deny => "deny",
    };
    let caller = require_operator(context, operator, command, session)?;
    let request = AnswerRequest {
        id: answer.id.to_owned(),
        answer: answer.answer,
        hash: answer.hash.to_owned(),
        why: answer.why.to_owned(),
        by: user(context),
        caller: Some(caller),
    };
    Ok(connect(context)?.answer(&request)?)
}

/// What was answered.
pub(super) fn sentence(response: &AnswerResponse) -> String {
    let done = match response.answer {
        PermissionAnswer::Allow => "Allowed once",
        PermissionAnswer::Deny => "Denied",
    };
    format!("{done}: {} of {}", response.approval.tool, response.approval.session)
}

/// The prompts that wait for an answer. Only the resident process offers any.
pub(super) fn pending(context: &Context) -> Vec<PendingApproval> {
    connect(context).and_then(|mut client| client.approvals()).unwrap_or_default()
}

fn connect(context: &Context) -> Result<Client, ClientError> {
    Client::connect(&context.paths, REQUEST_TIMEOUT)
}
