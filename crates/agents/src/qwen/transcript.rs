//! Qwen Code's session files: one line per message part of the conversation, with telemetry between.

use std::path::Path;

use belay_core::event::{
    Author, Body, Compacted, ModelAnswered, ModelFailed, Prompt, SessionStarted, ToolCalled, ToolReturned, TurnEnded,
    Usage,
};
use belay_core::{Excerpt, SessionKey, Status};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{ID, kind_of};
use crate::gemini::output;
use crate::json::{Count, Maybe, Stamp, Text};
use crate::transcript::{Dialect, Flaw, Format, ReadError, Sink, Tally, Teller, first_line, parse, read_lines, stem};

/// The format.
#[derive(Debug)]
pub struct Transcript;

impl Format for Transcript {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> bool {
        let first = first_line(head);
        let Ok(line) = serde_json::from_str::<Line<'_>>(&first) else { return false };
        let told = line.session_id.some().is_some() && line.uuid.some().is_some();
        // Claude Code's lines look alike, but hold no parts and always say whether they are a side chain.
        path.extension().is_some_and(|ext| ext == "jsonl") && told && !first.contains("\"isSidechain\"")
    }

    fn lines(&self, path: &Path) -> Option<Box<dyn Dialect + Send>> {
        Some(Box::new(Reader::new(path)))
    }

    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<Tally, ReadError> {
        let mut teller = Teller::new(SessionKey::new(ID, stem(path)), sink);
        read_lines(path, &mut Reader::new(path), &mut teller)
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: Text<'a>,
    subtype: Text<'a>,
    uuid: Text<'a>,
    session_id: Text<'a>,
    timestamp: Stamp,
    provenance: Text<'a>,
    cwd: Text<'a>,
    version: Text<'a>,
    git_branch: Text<'a>,
    model: Text<'a>,
    message: Maybe<Message<'a>>,
    usage_metadata: Maybe<Tokens>,
    tool_call_result: Maybe<CallResult<'a>>,
    system_payload: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Message<'a> {
    parts: Vec<Part<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Part<'a> {
    text: Text<'a>,
    thought: Value,
    function_call: Maybe<Call<'a>>,
    function_response: Maybe<Response<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Call<'a> {
    id: Text<'a>,
    name: Text<'a>,
    args: Value,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Response<'a> {
    id: Text<'a>,
    name: Text<'a>,
    response: Value,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct CallResult<'a> {
    status: Text<'a>,
    result_display: Maybe<Display>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Display {
    file_path: Option<String>,
    original_content: Option<String>,
    new_content: Option<String>,
    exit_code: Option<i32>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Tokens {
    prompt_token_count: Count,
    candidates_token_count: Count,
    thoughts_token_count: Count,
    cached_content_token_count: Count,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let cached = tokens.cached_content_token_count.0;
        Self {
            input: tokens.prompt_token_count.0.saturating_sub(cached),
            output: tokens.candidates_token_count.0.saturating_add(tokens.thoughts_token_count.0),
            cache_read: cached,
            cache_write: 0,
        }
    }
}

struct Reader {
    transcript: String,
    started: bool,
    /// The telemetry of the answer that follows: its response id.
    response: Option<String>,
}

impl Reader {
    fn answer(&mut self, line: Line<'_>, teller: &mut Teller<'_>) {
        let parts = line.message.0.unwrap_or_default().parts;
        let said: Vec<&str> =
            parts.iter().filter(|part| part.thought != true).filter_map(|part| part.text.some()).collect();
        let said = said.join("\n");
        let calls: Vec<ToolCalled> = parts
            .iter()
            .filter_map(|part| part.function_call.0.as_ref())
            .map(|call| ToolCalled::new(call.id.owned(), kind_of(&call.name), &call.name, &call.args))
            .collect();
        let silent = calls.is_empty();
        let response = self.response.take().or(line.uuid.owned());
        teller.tell_answer(
            response.clone(),
            ModelAnswered {
                response,
                model: line.model.owned(),
                usage: line.usage_metadata.0.map(Usage::from),
                text: Excerpt::new(&said),
                ..ModelAnswered::default()
            },
            calls,
        );
        if silent {
            teller.tell(Body::TurnEnded(TurnEnded { text: Excerpt::new(&said), ..TurnEnded::default() }));
        }
    }

    fn result(line: Line<'_>, teller: &mut Teller<'_>) {
        let result = line.tool_call_result.0.unwrap_or_default();
        for part in line.message.0.unwrap_or_default().parts {
            let Some(response) = part.function_response.0 else { continue };
            let error = response.response.get("error").and_then(Value::as_str);
            let text = error.or(response.response.get("output").and_then(Value::as_str)).unwrap_or_default();
            let said = if error.is_some() { "error" } else { "" };
            let output = output::unwrap(kind_of(&response.name), result.status.some().unwrap_or(said), text);
            let display = result.result_display.0.as_ref();
            let exit_code = output.exit_code.or(display.and_then(|display| display.exit_code));
            let id = response.id.owned();
            let ok = output.status == Status::Ok;
            teller.tell(Body::ToolReturned(ToolReturned::new(
                id.clone(),
                Some(output.status),
                exit_code,
                &output.text,
            )));
            if let Some(Display { file_path: Some(path), original_content, new_content: Some(new), .. }) = display
                && ok
            {
                let change = output::written(path, original_content.as_deref(), new, id);
                teller.tell(Body::FileChanged(change));
            }
        }
    }

    fn system(&mut self, line: &Line<'_>, teller: &mut Teller<'_>) {
        match &*line.subtype {
            "chat_compression" => teller.tell(Body::Compacted(Compacted { automatic: true, before: None })),
            "ui_telemetry" => {
                let Some(payload) = line.system_payload else { return };
                let Ok(payload) = serde_json::from_str::<Telemetry<'_>>(payload.get()) else { return };
                match &*payload.ui_event.name {
                    "qwen-code.api_response" => self.response = payload.ui_event.response_id.owned(),
                    "qwen-code.api_error" => teller.tell(Body::ModelFailed(ModelFailed {
                        status: payload.ui_event.status_code.status(),
                        message: Excerpt::bounded(&payload.ui_event.error, 512),
                        retry_at: None,
                    })),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Telemetry<'a> {
    ui_event: UiEvent<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct UiEvent<'a> {
    #[serde(rename = "event.name")]
    name: Text<'a>,
    response_id: Text<'a>,
    error: Text<'a>,
    status_code: Count,
}

impl Reader {
    fn new(path: &Path) -> Self {
        Self { transcript: path.to_string_lossy().into_owned(), started: false, response: None }
    }
}

impl Dialect for Reader {
    fn line(&mut self, text: &str, teller: &mut Teller<'_>) -> Result<(), Flaw> {
        let line: Line<'_> = parse(text)?;
        teller.at = line.timestamp.or(teller.at);
        if let Some(uuid) = line.uuid.some() {
            teller.record(format_args!("{uuid}"));
        }
        if let Some(cwd) = line.cwd.owned() {
            teller.cwd = Some(cwd);
        }
        if !self.started && line.session_id.some().is_some() {
            self.started = true;
            teller.session = SessionKey::new(ID, &*line.session_id);
            teller.tell(Body::SessionStarted(SessionStarted {
                agent_version: line.version.owned(),
                project: line.cwd.owned(),
                branch: line.git_branch.owned(),
                transcript: Some(self.transcript.clone()),
                ..SessionStarted::default()
            }));
        }
        match &*line.kind {
            "user" => {
                let parts = line.message.0.unwrap_or_default().parts;
                let text: Vec<&str> = parts.iter().filter_map(|part| part.text.some()).collect();
                let by = match &*line.provenance {
                    "" | "real_user" => Author::Person,
                    _ => Author::System,
                };
                if !text.is_empty() {
                    teller.tell(Body::Prompt(Prompt { by, text: Excerpt::new(&text.join("\n")) }));
                }
            }
            "assistant" => self.answer(line, teller),
            "tool_result" => Self::result(line, teller),
            "system" => self.system(&line, teller),
            _ => return Err(Flaw::Unknown),
        }
        Ok(())
    }
}
