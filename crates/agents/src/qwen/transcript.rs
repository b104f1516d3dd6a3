//! Qwen Code's session files: one line per message part of the conversation, with telemetry in between.

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
use crate::gemini::output;
use crate::lenient_json::{LenientOption, LenientString, LenientTime, LenientU64, usage_with_cached_input};
use crate::transcript::{LineError, LineParser, TranscriptEventBuilder, TranscriptFormat, first_line, parse};

/// The transcript format.
#[derive(Debug)]
pub struct QwenFormat;

impl TranscriptFormat for QwenFormat {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> bool {
        let first = first_line(head);
        let Ok(line) = serde_json::from_str::<Line<'_>>(&first) else { return false };
        let told = line.session_id.non_empty().is_some() && line.uuid.non_empty().is_some();
        // Claude Code's lines are similar, but have no parts and always have a side chain flag.
        path.extension().is_some_and(|ext| ext == "jsonl") && told && !first.contains("\"isSidechain\"")
    }

    fn line_parser(&self, path: &Path) -> Option<Box<dyn LineParser + Send>> {
        Some(Box::new(QwenParser::new(path)))
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: LenientString<'a>,
    subtype: LenientString<'a>,
    uuid: LenientString<'a>,
    session_id: LenientString<'a>,
    timestamp: LenientTime,
    provenance: LenientString<'a>,
    cwd: LenientString<'a>,
    version: LenientString<'a>,
    git_branch: LenientString<'a>,
    model: LenientString<'a>,
    message: LenientOption<Message<'a>>,
    usage_metadata: LenientOption<Tokens>,
    tool_call_result: LenientOption<CallResult<'a>>,
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
    text: LenientString<'a>,
    thought: Value,
    function_call: LenientOption<Call<'a>>,
    function_response: LenientOption<Response<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Call<'a> {
    id: LenientString<'a>,
    name: LenientString<'a>,
    args: Value,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Response<'a> {
    id: LenientString<'a>,
    name: LenientString<'a>,
    response: Value,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct CallResult<'a> {
    status: LenientString<'a>,
    result_display: LenientOption<ResultDisplay>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ResultDisplay {
    file_path: Option<String>,
    original_content: Option<String>,
    new_content: Option<String>,
    exit_code: Option<i32>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Tokens {
    prompt_token_count: LenientU64,
    candidates_token_count: LenientU64,
    thoughts_token_count: LenientU64,
    cached_content_token_count: LenientU64,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        usage_with_cached_input(
            tokens.prompt_token_count.0,
            tokens.candidates_token_count.0.saturating_add(tokens.thoughts_token_count.0),
            tokens.cached_content_token_count.0,
            0,
        )
    }
}

struct QwenParser {
    transcript: String,
    started: bool,
    /// The response id of the following response, from telemetry.
    response: Option<String>,
}

impl QwenParser {
    fn answer(&mut self, line: Line<'_>, builder: &mut TranscriptEventBuilder<'_>) {
        let parts = line.message.0.unwrap_or_default().parts;
        let text: Vec<&str> =
            parts.iter().filter(|part| part.thought != true).filter_map(|part| part.text.non_empty()).collect();
        let text = text.join("\n");
        let calls: Vec<ToolCalled> = parts
            .iter()
            .filter_map(|part| part.function_call.0.as_ref())
            .map(|call| ToolCalled::new(call.id.owned(), kind_of(&call.name), &call.name, &call.args))
            .collect();
        let silent = calls.is_empty();
        let response = self.response.take().or(line.uuid.owned());
        builder.push_answer(
            response.clone(),
            ModelAnswered {
                response,
                model: line.model.owned(),
                usage: line.usage_metadata.0.map(Usage::from),
                text: Excerpt::new(&text),
                ..ModelAnswered::default()
            },
            calls,
        );
        if silent {
            builder.push(Body::TurnEnded(TurnEnded { text: Excerpt::new(&text), ..TurnEnded::default() }));
        }
    }

    fn result(line: Line<'_>, builder: &mut TranscriptEventBuilder<'_>) {
        let result = line.tool_call_result.0.unwrap_or_default();
        for part in line.message.0.unwrap_or_default().parts {
            let Some(response) = part.function_response.0 else { continue };
            let error = response.response.get("error").and_then(Value::as_str);
            let text = error.or(response.response.get("output").and_then(Value::as_str)).unwrap_or_default();
            let default_status = if error.is_some() { "error" } else { "" };
            let output =
                output::unwrap(kind_of(&response.name), result.status.non_empty().unwrap_or(default_status), text);
            let display = result.result_display.0.as_ref();
            let exit_code = output.exit_code.or(display.and_then(|display| display.exit_code));
            let id = response.id.owned();
            let ok = output.status == CallStatus::Ok;
            builder.push(Body::ToolReturned(ToolReturned::new(
                id.clone(),
                Some(output.status),
                exit_code,
                &output.text,
            )));
            if let Some(ResultDisplay { file_path: Some(path), original_content, new_content: Some(new), .. }) = display
                && ok
            {
                let change = output::written_file(path, original_content.as_deref(), new, id);
                builder.push(Body::FileChanged(change));
            }
        }
    }

    fn system(&mut self, line: &Line<'_>, builder: &mut TranscriptEventBuilder<'_>) {
        match &*line.subtype {
            "chat_compression" => builder.push(Body::Compacted(Compacted { automatic: true, before: None })),
            "ui_telemetry" => {
                let Some(payload) = line.system_payload else { return };
                let Ok(payload) = serde_json::from_str::<Telemetry<'_>>(payload.get()) else { return };
                match &*payload.ui_event.name {
                    "qwen-code.api_response" => self.response = payload.ui_event.response_id.owned(),
                    "qwen-code.api_error" => builder.push(Body::ModelFailed(ModelFailed {
                        status: payload.ui_event.status_code.status(),
                        message: Excerpt::with_limit(&payload.ui_event.error, 512),
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
    name: LenientString<'a>,
    response_id: LenientString<'a>,
    error: LenientString<'a>,
    status_code: LenientU64,
}

impl QwenParser {
    fn new(path: &Path) -> Self {
        Self { transcript: path.to_string_lossy().into_owned(), started: false, response: None }
    }
}

impl LineParser for QwenParser {
    fn line(&mut self, text: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let line: Line<'_> = parse(text)?;
        builder.at = line.timestamp.or(builder.at);
        if let Some(uuid) = line.uuid.non_empty() {
            builder.start_record(format_args!("{uuid}"));
        }
        if let Some(cwd) = line.cwd.owned() {
            builder.cwd = Some(cwd);
        }
        if !self.started && line.session_id.non_empty().is_some() {
            self.started = true;
            builder.session = SessionKey::new(ID, &*line.session_id);
            builder.push(Body::SessionStarted(SessionStarted {
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
                let text: Vec<&str> = parts.iter().filter_map(|part| part.text.non_empty()).collect();
                let by = match &*line.provenance {
                    "" | "real_user" => Author::Person,
                    _ => Author::System,
                };
                if !text.is_empty() {
                    builder.push(Body::Prompt(Prompt { by, text: Excerpt::new(&text.join("\n")) }));
                }
            }
            "assistant" => self.answer(line, builder),
            "tool_result" => Self::result(line, builder),
            "system" => self.system(&line, builder),
            _ => return Err(LineError::Unknown),
        }
        Ok(())
    }
}
