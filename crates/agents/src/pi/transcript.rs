//! pi's session files: one line per message, a tree by `parentId` written in order of time.

use std::path::Path;

use belay_core::event::{
    Author, Body, Compacted, ModelAnswered, ModelFailed, Prompt, SessionStarted, ToolCalled, ToolReturned, TurnEnded,
    Usage,
};
use belay_core::{CallStatus, Excerpt, SessionKey};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{ID, kind_of};
use crate::lenient_json::{LenientBool, LenientOption, LenientString, LenientTime, LenientU64, text_of};
use crate::transcript::{LineError, LineParser, TranscriptEventBuilder, TranscriptFormat, file_stem, parse};

/// The transcript format.
#[derive(Debug)]
pub struct PiFormat;

impl TranscriptFormat for PiFormat {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, _path: &Path, head: &[u8]) -> bool {
        // Newer versions write a title before the header.
        let lines = head.split(|byte| *byte == b'\n').take(2);
        lines
            .filter_map(|line| serde_json::from_slice::<Line<'_>>(line).ok())
            .any(|line| &*line.kind == "session" && line.id.non_empty().is_some() && line.cwd.non_empty().is_some())
    }

    fn session(&self, path: &Path) -> SessionKey {
        let stem = file_stem(path);
        SessionKey::new(ID, stem.rsplit('_').next().unwrap_or(&stem))
    }

    fn line_parser(&self, path: &Path) -> Option<Box<dyn LineParser + Send>> {
        Some(Box::new(PiParser { transcript: path.to_string_lossy().into_owned(), ..PiParser::default() }))
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: LenientString<'a>,
    id: LenientString<'a>,
    timestamp: LenientTime,
    cwd: LenientString<'a>,
    model_id: LenientString<'a>,
    parent_session: LenientString<'a>,
    tokens_before: LenientU64,
    message: LenientOption<Message<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Message<'a> {
    role: LenientString<'a>,
    content: Option<&'a RawValue>,
    model: LenientString<'a>,
    usage: LenientOption<Tokens>,
    stop_reason: LenientString<'a>,
    error_message: LenientString<'a>,
    response_id: LenientString<'a>,
    tool_call_id: LenientString<'a>,
    is_error: LenientBool,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Tokens {
    input: LenientU64,
    output: LenientU64,
    cache_read: LenientU64,
    cache_write: LenientU64,
    cost: LenientOption<Cost>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Cost {
    total: LenientOption<f64>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: LenientString<'a>,
    text: LenientString<'a>,
    id: LenientString<'a>,
    name: LenientString<'a>,
    arguments: Value,
}

#[derive(Default)]
struct PiParser {
    transcript: String,
    started: bool,
}

impl PiParser {
    fn message(&mut self, message: Message<'_>, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let content = message.content.map_or("null", RawValue::get);
        match &*message.role {
            "user" => {
                builder.push(Body::Prompt(Prompt { by: Author::Person, text: Excerpt::new(&text_of(content)) }));
            }
            "assistant" => answer(&message, content, builder),
            "toolResult" => {
                let text = text_of(content);
                let (text, exit_code) = exit_code(&text);
                let status = message.is_error.0.then_some(CallStatus::Error);
                let status =
                    if text.contains("Command timed out") { status.map(|_| CallStatus::TimedOut) } else { status };
                let call = message.tool_call_id.owned();
                builder.push(Body::ToolReturned(ToolReturned::new(
                    call,
                    status.or(Some(CallStatus::Ok)),
                    exit_code,
                    text,
                )));
            }
            // A command that the user ran; the model receives it with the next prompt.
            "bashExecution" | "custom" | "branchSummary" | "compactionSummary" | "hookMessage" => {}
            _ => return Err(LineError::Unknown),
        }
        Ok(())
    }
}

fn answer(message: &Message<'_>, content: &str, builder: &mut TranscriptEventBuilder<'_>) {
    let blocks: Vec<Block<'_>> = serde_json::from_str(content).unwrap_or_default();
    let text: Vec<&str> = blocks.iter().filter(|block| &*block.kind == "text").map(|block| &*block.text).collect();
    let text = text.join("\n");
    let calls: Vec<ToolCalled> = blocks
        .iter()
        .filter(|block| &*block.kind == "toolCall")
        .map(|block| ToolCalled::new(block.id.owned(), kind_of(&block.name), &block.name, &block.arguments))
        .collect();
    let silent = calls.is_empty();
    let tokens = message.usage.0;
    let cost = tokens.and_then(|tokens| tokens.cost.0?.total.0).filter(|cost| *cost > 0.0);
    let response = message.response_id.owned();
    builder.push_answer(
        response.clone(),
        ModelAnswered {
            response,
            model: message.model.owned(),
            usage: tokens.map(|tokens| Usage {
                input: tokens.input.0,
                output: tokens.output.0,
                cache_read: tokens.cache_read.0,
                cache_write: tokens.cache_write.0,
                ..Usage::default()
            }),
            stop: message.stop_reason.owned(),
            cost_micros: cost.map(|dollars| (dollars * 1e6).round() as u64),
            text: Excerpt::new(&text),
            ..ModelAnswered::default()
        },
        calls,
    );
    if &*message.stop_reason == "error" {
        let message = Excerpt::with_limit(&message.error_message, 512);
        builder.push(Body::ModelFailed(ModelFailed { message, ..ModelFailed::default() }));
    }
    if silent {
        let failed = matches!(&*message.stop_reason, "error" | "aborted");
        builder.push(Body::TurnEnded(TurnEnded { text: Excerpt::new(&text), failed, ..TurnEnded::default() }));
    }
}

/// pi appends a sentence to the output of a failed command.
fn exit_code(text: &str) -> (&str, Option<i32>) {
    let Some((body, code)) = text.rsplit_once("Command exited with code ") else { return (text, None) };
    match code.trim().parse() {
        Ok(code) => (body.trim_end(), Some(code)),
        Err(_) => (text, None),
    }
}

impl LineParser for PiParser {
    fn line(&mut self, text: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let line: Line<'_> = parse(text)?;
        builder.at = line.timestamp.or(builder.at);
        if let Some(id) = line.id.non_empty().filter(|_| &*line.kind != "session") {
            builder.start_record(format_args!("{id}"));
        }
        match &*line.kind {
            "session" if !self.started => {
                self.started = true;
                if let Some(id) = line.id.non_empty() {
                    builder.session = SessionKey::new(ID, id);
                }
                builder.cwd = line.cwd.owned();
                builder.push(Body::SessionStarted(SessionStarted {
                    how: match line.parent_session.non_empty() {
                        Some(_) => belay_core::event::StartKind::Forked,
                        None => belay_core::event::StartKind::New,
                    },
                    project: line.cwd.owned(),
                    transcript: Some(self.transcript.clone()),
                    ..SessionStarted::default()
                }));
            }
            "message" => return self.message(line.message.0.ok_or(LineError::Unknown)?, builder),
            "compaction" => {
                let before = Some(line.tokens_before.0).filter(|tokens| *tokens != 0);
                builder.push(Body::Compacted(Compacted { automatic: true, before }));
            }
            "model_change" if line.model_id.non_empty().is_some() => {}
            "session"
            | "model_change"
            | "thinking_level_change"
            | "branch_summary"
            | "custom"
            | "custom_message"
            | "label"
            | "session_info" => {}
            _ => return Err(LineError::Unknown),
        }
        Ok(())
    }
}
