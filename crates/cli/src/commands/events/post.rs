//! `belay events post`: reads JSON lines and prints one result per line.

use std::io;

use belay_core::event::MAX_EVENT_BYTES;
use belay_core::{Event, Source, Verdict};
use belay_ipc::{ErrorBody, ErrorCode, EventResult, Line, LineReader, MAX_LINE_BYTES};
use clap::Args;
use serde_json::json;
use serde_json::value::RawValue;

use crate::backend::Backend;
use crate::commands::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;
use crate::operator::CallerTree;

/// Maximum number of events per request. A producer that waits for each result gets it at once.
const MAX_BATCH_EVENTS: usize = 64;

#[derive(Debug, Args)]
pub(crate) struct PostArgs {}

/// A line of the input.
struct ParsedLine {
    number: u64,
    event: Result<Box<RawValue>, ErrorBody>,
}

pub(crate) fn run(context: &Context, _args: &PostArgs) -> CommandResult {
    let agent = CallerTree::read(&context.env).agent();
    let mut backend = Backend::open(context)?;
    let mut stdin = io::stdin().lock();
    let mut lines = LineReader::new(MAX_EVENT_BYTES);
    let mut batch = Batch::default();
    let (mut accepted, mut refused) = (0_u64, 0_u64);
    loop {
        let line = lines.next(&mut stdin).map_err(|error| CommandError::new("cannot read stdin").cause(error))?;
        let ended = line.is_none();
        let event = match line {
            Some(line) => Some(read(line, agent.as_deref())),
            // The last line may lack its newline.
            None => match lines.partial_line() {
                Line::Complete(rest) if rest.trim_ascii().is_empty() => None,
                rest => Some(read(rest, agent.as_deref())),
            },
        };
        if let Some(event) = event {
            batch.push(ParsedLine { number: lines.line_number() + u64::from(ended), event });
        }
        if ended || batch.is_full() || !lines.has_more() {
            for (number, answer) in batch.send(&mut backend)? {
                match answer {
                    EventResult::Accepted(_) => accepted += 1,
                    EventResult::Refused { .. } => refused += 1,
                }
                print(context, number, &answer)?;
            }
        }
        if ended {
            break;
        }
    }
    context.out.info(match refused {
        0 => format!("{accepted} accepted."),
        _ => format!("{accepted} accepted, {refused} refused."),
    });
    Ok(if refused == 0 { ExitStatus::Done } else { ExitStatus::Partly })
}

/// Parses a line. If an agent sent it, facts that discard evidence are refused.
fn read(line: Line<'_>, agent: Option<&str>) -> Result<Box<RawValue>, ErrorBody> {
    match line {
        Line::TooLong => {
            let message = format!("event: longer than {MAX_EVENT_BYTES} bytes; send an excerpt");
            Err(ErrorBody::new(ErrorCode::TooLong, message).field("event"))
        }
        Line::Complete(bytes) if agent.is_some() && is_owner_only(bytes) => {
            let agent = agent.unwrap_or_default();
            let message = format!("kind: an agent ({agent}) may not post decisions or facts that discard evidence");
            Err(ErrorBody::new(ErrorCode::Forbidden, message).field("kind").hint("post it from your own terminal"))
        }
        Line::Complete(bytes) => (if agent.is_some() { as_unverified(bytes) } else { serde_json::from_slice(bytes) })
            .map_err(|error| ErrorBody::new(ErrorCode::BadRequest, format!("event: not JSON: {error}")).field("event")),
    }
}

/// An agent does not pass what it posts off as a report of its hooks.
fn as_unverified(event: &[u8]) -> serde_json::Result<Box<RawValue>> {
    let mut event: serde_json::Value = serde_json::from_slice(event)?;
    if let Some(fields) = event.as_object_mut() {
        fields.insert("source".to_owned(), serde_json::to_value(Source::Unverified)?);
    }
    serde_json::value::to_raw_value(&event)
}

fn is_owner_only(event: &[u8]) -> bool {
    Event::from_json(event).is_ok_and(|event| belay_server::requires_owner(&event.body))
}

#[derive(Default)]
struct Batch {
    lines: Vec<ParsedLine>,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, line: ParsedLine) {
        self.bytes += line.event.as_ref().map_or(0, |event| event.get().len());
        self.lines.push(line);
    }

    /// Whether another event may exceed the size of a request.
    fn is_full(&self) -> bool {
        self.lines.len() >= MAX_BATCH_EVENTS || self.bytes > (MAX_LINE_BYTES - MAX_EVENT_BYTES) / 2
    }

    fn send(&mut self, backend: &mut Backend<'_>) -> Result<Vec<(u64, EventResult)>, CommandError> {
        self.bytes = 0;
        let mut valid = Vec::new();
        let mut pending = Vec::new();
        for ParsedLine { number, event } in self.lines.drain(..) {
            pending.push((number, event.map(|event| valid.push(event)).err()));
        }
        let mut answers = match valid.is_empty() {
            true => Vec::new(),
            false => backend.observe(&valid)?,
        }
        .into_iter();
        let missing = || EventResult::Refused {
            error: ErrorBody::new(ErrorCode::Internal, "the resident process sent no result for this event"),
        };
        let answer = |(number, refused): (u64, Option<ErrorBody>)| match refused {
            Some(error) => (number, EventResult::Refused { error }),
            None => (number, answers.next().unwrap_or_else(missing)),
        };
        Ok(pending.into_iter().map(answer).collect())
    }
}

fn print(context: &Context, number: u64, answer: &EventResult) -> io::Result<()> {
    if context.out.json {
        let mut value = serde_json::to_value(answer)?;
        if let Some(object) = value.as_object_mut() {
            object.insert("line".to_owned(), json!(number));
            object.insert("taken".to_owned(), json!(matches!(answer, EventResult::Accepted(_))));
        }
        return context.out.json(&value);
    }
    match answer {
        EventResult::Refused { error } => context.out.line(format!("line {number}: refused: {}", error.message)),
        EventResult::Accepted(accepted) => {
            let how = match (accepted.decision.duplicate, accepted.committed) {
                (true, _) => "duplicate".to_owned(),
                (false, false) => "accepted, in memory only".to_owned(),
                (false, true) => {
                    accepted.seq.map_or_else(|| "accepted".to_owned(), |seq| format!("accepted as event {seq}"))
                }
            };
            let verdict = match &accepted.decision.verdict {
                Verdict::Go => String::new(),
                Verdict::Nudge { message, .. } => format!("; nudge: {message}"),
                Verdict::Hold { reason, .. } => format!("; held: {reason}"),
                Verdict::Stop { reason, .. } => format!("; stopped: {reason}"),
            };
            context.out.line(crate::output::single_line(&format!("line {number}: {how}{verdict}")))
        }
    }
}
