//! `belay events post`: JSON lines in, one acknowledgement a line out.

use std::io;

use belay_core::Verdict;
use belay_core::event::MAX_EVENT_BYTES;
use belay_ipc::{ErrorBody, ErrorCode, EventResult, Line, LineReader, MAX_LINE_BYTES};
use clap::Args;
use serde_json::json;
use serde_json::value::RawValue;

use crate::backend::Backend;
use crate::commands::CommandResult;
use crate::context::Context;
use crate::error::CommandError;
use crate::exit_status::ExitStatus;

/// Events sent together at most; a producer that waits for each answer gets it at once.
const MAX_BATCH_EVENTS: usize = 64;

#[derive(Debug, Args)]
pub(crate) struct PostArgs {}

/// A line, read or refused.
struct ParsedLine {
    number: u64,
    event: Result<Box<RawValue>, ErrorBody>,
}

pub(crate) fn run(context: &Context, _args: &PostArgs) -> CommandResult {
    let mut backend = Backend::open(context)?;
    let mut stdin = io::stdin().lock();
    let mut lines = LineReader::new(MAX_EVENT_BYTES);
    let mut batch = Batch::default();
    let (mut taken, mut refused) = (0_u64, 0_u64);
    loop {
        let line = lines.next(&mut stdin).map_err(|error| CommandError::new("stdin cannot be read").cause(error))?;
        let ended = line.is_none();
        let event = match line {
            Some(line) => Some(read(line)),
            // The last line may come without its end.
            None => match lines.partial_line() {
                Line::Complete(rest) if rest.trim_ascii().is_empty() => None,
                rest => Some(read(rest)),
            },
        };
        if let Some(event) = event {
            batch.push(ParsedLine { number: lines.line_number() + u64::from(ended), event });
        }
        if ended || batch.is_full() || !lines.has_more() {
            for (number, answer) in batch.send(&mut backend)? {
                match answer {
                    EventResult::Accepted(_) => taken += 1,
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
        0 => format!("{taken} taken."),
        _ => format!("{taken} taken, {refused} refused."),
    });
    Ok(if refused == 0 { ExitStatus::Done } else { ExitStatus::Partly })
}

fn read(line: Line<'_>) -> Result<Box<RawValue>, ErrorBody> {
    match line {
        Line::TooLong => {
            let message = format!("event: longer than the {MAX_EVENT_BYTES} bytes an event may have; send an excerpt");
            Err(ErrorBody::new(ErrorCode::TooLong, message).field("event"))
        }
        Line::Complete(bytes) => serde_json::from_slice(bytes)
            .map_err(|error| ErrorBody::new(ErrorCode::BadRequest, format!("event: not JSON: {error}")).field("event")),
    }
}

#[derive(Default)]
struct Batch {
    reads: Vec<ParsedLine>,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, read: ParsedLine) {
        self.bytes += read.event.as_ref().map_or(0, |event| event.get().len());
        self.reads.push(read);
    }

    /// Another event may not fit into one request any more.
    fn is_full(&self) -> bool {
        self.reads.len() >= MAX_BATCH_EVENTS || self.bytes > (MAX_LINE_BYTES - MAX_EVENT_BYTES) / 2
    }

    fn send(&mut self, backend: &mut Backend<'_>) -> Result<Vec<(u64, EventResult)>, CommandError> {
        self.bytes = 0;
        let mut good = Vec::new();
        let mut places = Vec::new();
        for ParsedLine { number, event } in self.reads.drain(..) {
            places.push((number, event.map(|event| good.push(event)).err()));
        }
        let mut answers = match good.is_empty() {
            true => Vec::new(),
            false => backend.observe(&good)?,
        }
        .into_iter();
        let lost =
            || EventResult::Refused { error: ErrorBody::new(ErrorCode::Internal, "no answer came for this event") };
        let answer = |(number, refused): (u64, Option<ErrorBody>)| match refused {
            Some(error) => (number, EventResult::Refused { error }),
            None => (number, answers.next().unwrap_or_else(lost)),
        };
        Ok(places.into_iter().map(answer).collect())
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
        EventResult::Accepted(taken) => {
            let how = match (taken.decision.duplicate, taken.committed) {
                (true, _) => "seen before".to_owned(),
                (false, false) => "taken, in memory only".to_owned(),
                (false, true) => taken.seq.map_or_else(|| "taken".to_owned(), |seq| format!("taken as number {seq}")),
            };
            let verdict = match &taken.decision.verdict {
                Verdict::Go => String::new(),
                Verdict::Nudge { message, .. } => format!("; nudge: {message}"),
                Verdict::Hold { reason, .. } => format!("; held: {reason}"),
                Verdict::Stop { reason, .. } => format!("; stopped: {reason}"),
            };
            context.out.line(crate::output::single_line(&format!("line {number}: {how}{verdict}")))
        }
    }
}
