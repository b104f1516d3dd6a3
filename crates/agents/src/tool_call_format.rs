//! A neutral JSONL format with one line per text, tool call and result, for scoring detectors on sessions of agents
//! without a reader.
//!
//! Lines have the kinds `meta`, `user_text`, `assistant_text`, `tool_call` (`call` is its ordinal) and `tool_result`
//! (`call` is the call's ordinal). The file name is the session id.

use std::borrow::Cow;
use std::path::Path;

use belay_core::event::{Author, Body, ModelAnswered, Prompt, SessionStarted, ToolCalled, ToolReturned, Usage};
use belay_core::{CallStatus, Excerpt, SessionKey};
use serde::Deserialize;
use serde_json::Value;

use crate::lenient_json::LenientTime;
use crate::transcript::{LineError, LineParser, TranscriptEventBuilder, TranscriptFormat, first_line, parse};

/// Neutral tool-call JSONL.
#[derive(Debug)]
pub struct ToolCallFormat;

impl TranscriptFormat for ToolCallFormat {
    fn agent(&self) -> &'static str {
        "toolcalls"
    }

    fn recognises(&self, _path: &Path, head: &[u8]) -> bool {
        serde_json::from_str::<Line<'_>>(&first_line(head)).is_ok_and(|line| !matches!(line, Line::Other))
    }

    fn session(&self, path: &Path) -> SessionKey {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        SessionKey::new(self.agent(), name)
    }

    fn line_parser(&self, _: &Path) -> Option<Box<dyn LineParser + Send>> {
        Some(Box::new(ToolCallParser::default()))
    }
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line<'a> {
    Meta {
        #[serde(default, borrow)]
        agent: Option<Cow<'a, str>>,
        #[serde(default, borrow)]
        model: Option<Cow<'a, str>>,
    },
    UserText(TextLine<'a>),
    AssistantText(TextLine<'a>),
    ToolCall {
        call: u64,
        #[serde(borrow)]
        tool: Cow<'a, str>,
        #[serde(default)]
        input: Value,
        #[serde(default, borrow)]
        in_sha: Option<Cow<'a, str>>,
        #[serde(default)]
        in_len: Option<usize>,
        #[serde(default)]
        ts: LenientTime,
    },
    ToolResult {
        call: u64,
        #[serde(default)]
        output: Value,
        #[serde(default)]
        is_error: Option<bool>,
        #[serde(default)]
        exit_code: Option<i32>,
        #[serde(default)]
        ts: LenientTime,
    },
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct TextLine<'a> {
    #[serde(default, borrow)]
    text: Cow<'a, str>,
    #[serde(default)]
    tokens: Option<u64>,
    #[serde(default)]
    ts: LenientTime,
}

#[derive(Debug, Default)]
struct ToolCallParser {
    /// First of the consecutive calls without a result or text in between, which ran in parallel.
    batch_start: Option<u64>,
}

impl LineParser for ToolCallParser {
    fn line(&mut self, line: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let parsed: Line<'_> = parse(line)?;
        if !matches!(parsed, Line::ToolCall { .. }) {
            self.batch_start = None;
        }
        match parsed {
            Line::Meta { agent, model } => {
                if let Some(agent) = agent.filter(|agent| !agent.is_empty()) {
                    builder.session.agent = crate::find(&agent).map_or(&*agent, |known| known.id).into();
                }
                let model = model.filter(|model| !model.is_empty()).map(Cow::into_owned);
                builder.push(Body::SessionStarted(SessionStarted { model, ..SessionStarted::default() }));
            }
            Line::UserText(line) => {
                builder.at = line.ts.or(builder.at);
                builder.push(Body::Prompt(Prompt { by: Author::Person, text: Excerpt::new(&line.text) }));
            }
            Line::AssistantText(line) => {
                builder.at = line.ts.or(builder.at);
                builder.push(Body::ModelAnswered(ModelAnswered {
                    usage: line.tokens.map(|output| Usage { output, ..Usage::default() }),
                    text: Excerpt::new(&line.text),
                    ..ModelAnswered::default()
                }));
            }
            Line::ToolCall { call, tool, input, in_sha, in_len, ts } => {
                builder.at = ts.or(builder.at);
                let first = *self.batch_start.get_or_insert(call);
                builder.batch = Some(format!("batch-{first}"));
                let input = decode_input(input, in_sha.as_deref(), in_len);
                builder.push(Body::ToolCalled(ToolCalled::new(Some(call.to_string()), None, &tool, &input)));
            }
            Line::ToolResult { call, output, is_error, exit_code, ts } => {
                builder.at = ts.or(builder.at);
                let output = match output {
                    Value::String(text) => text,
                    Value::Null => String::new(),
                    other => other.to_string(),
                };
                let status = is_error.unwrap_or(false).then_some(CallStatus::Error);
                builder.push(Body::ToolReturned(ToolReturned::new(Some(call.to_string()), status, exit_code, &output)));
            }
            Line::Other => return Err(LineError::Unknown),
        }
        Ok(())
    }
}

/// Decodes an input given as JSON or as a string with JSON. A truncated input is extended by the digest of the complete
/// one, so that inputs that differ outside the excerpt stay distinct.
fn decode_input(input: Value, sha: Option<&str>, len: Option<usize>) -> Value {
    let Value::String(text) = input else { return input };
    if let (Some(sha), Some(len)) = (sha, len)
        && len > text.chars().count()
    {
        return Value::String(format!("{text}\n[the whole is {sha}]"));
    }
    match serde_json::from_str::<Value>(&text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        _ => Value::String(text),
    }
}

#[cfg(test)]
mod tests;
