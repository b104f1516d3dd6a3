//! The neutral tool-call JSONL: one line per text, call and result, used to score detectors on
//! sessions of agents we have no reader for.
//!
//! `{"kind":"meta"}`, `user_text`, `assistant_text`, `tool_call` (with `call`, its ordinal),
//! `tool_result` (with the `call` it answers). The session's id is the file's name.

use std::borrow::Cow;
use std::path::Path;

use belay_core::event::{Author, Body, ModelAnswered, Prompt, SessionStarted, ToolCalled, ToolReturned, Usage};
use belay_core::{CallStatus, Excerpt, SessionKey};
use serde::Deserialize;
use serde_json::Value;

use crate::lenient_json::LenientTime;
use crate::transcript::{
    LineError, LineParser, ReadError, ReadStats, Sink, TranscriptEventBuilder, TranscriptFormat, first_line, parse,
    read_lines,
};

/// The format.
#[derive(Debug)]
pub struct ToolCallFormat;

impl TranscriptFormat for ToolCallFormat {
    fn agent(&self) -> &'static str {
        "toolcalls"
    }

    fn recognises(&self, _path: &Path, head: &[u8]) -> bool {
        serde_json::from_str::<Line<'_>>(&first_line(head)).is_ok_and(|line| !matches!(line, Line::Other))
    }

    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<ReadStats, ReadError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut teller = TranscriptEventBuilder::new(SessionKey::new(self.agent(), name), sink);
        read_lines(path, &mut Reader::default(), &mut teller)
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
    UserText(Text<'a>),
    AssistantText(Text<'a>),
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
struct Text<'a> {
    #[serde(default, borrow)]
    text: Cow<'a, str>,
    #[serde(default)]
    tokens: Option<u64>,
    #[serde(default)]
    ts: LenientTime,
}

#[derive(Debug, Default)]
struct Reader {
    /// First call of the run of calls that no answer or text has interrupted: made side by side.
    side_by_side: Option<u64>,
}

impl LineParser for Reader {
    fn line(&mut self, line: &str, teller: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let parsed: Line<'_> = parse(line)?;
        if !matches!(parsed, Line::ToolCall { .. }) {
            self.side_by_side = None;
        }
        match parsed {
            Line::Meta { agent, model } => {
                if let Some(agent) = agent.filter(|agent| !agent.is_empty()) {
                    teller.session.agent = crate::find(&agent).map_or(&*agent, |known| known.id).into();
                }
                let model = model.filter(|model| !model.is_empty()).map(Cow::into_owned);
                teller.push(Body::SessionStarted(SessionStarted { model, ..SessionStarted::default() }));
            }
            Line::UserText(said) => {
                teller.at = said.ts.or(teller.at);
                teller.push(Body::Prompt(Prompt { by: Author::Person, text: Excerpt::new(&said.text) }));
            }
            Line::AssistantText(said) => {
                teller.at = said.ts.or(teller.at);
                teller.push(Body::ModelAnswered(ModelAnswered {
                    usage: said.tokens.map(|output| Usage { output, ..Usage::default() }),
                    text: Excerpt::new(&said.text),
                    ..ModelAnswered::default()
                }));
            }
            Line::ToolCall { call, tool, input, in_sha, in_len, ts } => {
                teller.at = ts.or(teller.at);
                let first = *self.side_by_side.get_or_insert(call);
                teller.batch = Some(format!("batch-{first}"));
                let input = whole_input(input, in_sha.as_deref(), in_len);
                teller.push(Body::ToolCalled(ToolCalled::new(Some(call.to_string()), None, &tool, &input)));
            }
            Line::ToolResult { call, output, is_error, exit_code, ts } => {
                teller.at = ts.or(teller.at);
                let output = match output {
                    Value::String(text) => text,
                    Value::Null => String::new(),
                    other => other.to_string(),
                };
                let status = is_error.unwrap_or(false).then_some(CallStatus::Error);
                teller.push(Body::ToolReturned(ToolReturned::new(Some(call.to_string()), status, exit_code, &output)));
            }
            Line::Other => return Err(LineError::Unknown),
        }
        Ok(())
    }
}

/// Inputs come as JSON or as text that holds JSON. An excerpt of a longer input carries the digest
/// of the whole, so that two inputs that differ outside the excerpt stay different.
fn whole_input(input: Value, sha: Option<&str>, len: Option<usize>) -> Value {
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
