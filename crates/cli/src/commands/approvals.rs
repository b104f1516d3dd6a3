//! `belay approvals`, `belay approve` and `belay deny`: permission prompts of agents.

use std::time::Duration;

use belay_clock::now;
use belay_config::Strictness;
use belay_core::SessionKey;
use belay_core::event::PermissionAnswer;
use belay_core::exact::{exact_line, exact_rows};
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
use crate::output::{Output, terminal_size};

const ID_PREFIX: &str = "apr-";
/// Digits of an id: those of the hash of what was shown.
const ID_DIGITS: usize = 16;
/// Prompts that an error lists.
const MAX_LISTED: usize = 8;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    /// Prompt, as `belay approvals` lists it: the complete id.
    id: Option<String>,
    #[command(flatten)]
    operator: OperatorArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DenyArgs {
    /// Prompt, as `belay approvals` lists it: the complete id.
    id: Option<String>,
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
        context.out.line(exact_line(&format!("{id}  {session} asks to use {tool}{place}")))?;
        print_exactly(&context.out, text)?;
        let (asked, ends) = (relative_past(*asked_at, now), relative_future(*until, now));
        context.out.line(format!("    asked {asked}; the offer ends {ends}"))?;
    }
    context.out.info("`belay approve ID` allows a call once, `belay deny ID` denies it.");
    Ok(ExitStatus::Done)
}

pub(crate) fn approve(context: &Context, args: &ApproveArgs) -> CommandResult {
    answer(context, args.id.as_deref(), PermissionAnswer::Allow, "", args.operator)
}

pub(crate) fn deny(context: &Context, args: &DenyArgs) -> CommandResult {
    answer(context, args.id.as_deref(), PermissionAnswer::Deny, &args.why, args.operator)
}

fn answer(
    context: &Context,
    id: Option<&str>,
    answer: PermissionAnswer,
    why: &str,
    operator: OperatorArgs,
) -> CommandResult {
    let mut client = connect(context)?;
    let pending = client.approvals()?;
    let id = id.unwrap_or_default();
    // What the person has seen is taken from the id, never from the prompts that are open now.
    let Some(hash) = id.strip_prefix(ID_PREFIX).filter(|hash| hash.len() == ID_DIGITS) else {
        return Err(not_an_id(id, &pending));
    };
    // The resident process knows how one that is not listed ended.
    let prompt = pending.iter().find(|prompt| prompt.id == id);
    let session = prompt.and_then(|prompt| SessionKey::parse(&prompt.session));
    let response = send(context, operator, session.as_ref(), Answer { id, hash, answer, why })?;
    if context.out.json {
        context.out.json(&response)?;
        return Ok(ExitStatus::Done);
    }
    context.out.line(exact_line(&sentence(&response)))?;
    print_exactly(&context.out, &response.approval.text)?;
    Ok(ExitStatus::Done)
}

/// Refuses a part of an id, which could name a prompt that nobody has seen.
fn not_an_id(id: &str, pending: &[PendingApproval]) -> CommandError {
    let error = CommandError::usage(match id {
        "" => "no permission prompt is named".to_owned(),
        _ => format!("{id:?} is not the complete id of a permission prompt"),
    });
    let about = |prompt: &PendingApproval| exact_line(&format!("{}: {} of {}", prompt.id, prompt.tool, prompt.session));
    let listed = pending.iter().take(MAX_LISTED).map(about);
    let hints = listed.chain([match pending.is_empty() {
        true => "no permission prompt waits for an answer here".to_owned(),
        false => "give a complete id; `belay approvals` shows what each of them asks".to_owned(),
    }]);
    hints.fold(error, CommandError::hint)
}

/// Prints every character of a command or input. On a terminal, a line that continues in the next row is marked: for a
/// shell, a line break ends a command.
fn print_exactly(out: &Output, text: &str) -> std::io::Result<()> {
    let columns = terminal_size().map_or(usize::MAX, |(columns, _)| usize::from(columns).saturating_sub(4));
    for row in exact_rows(text, columns) {
        out.line(format!("{}{}", if row.continues { "  ↪ " } else { "    " }, row.text))?;
    }
    Ok(())
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
