//! Gemini CLI's session files: lines (0.5x on) or one JSON document (before).
//!
//! A message is rewritten under the same id when its tool calls complete; the last version wins. A message is therefore
//! buffered until the next one starts, and a late rewrite adds only what is new.

use std::path::Path;

use belay_core::event::{
    Author, Body, ModelAnswered, ModelFailed, Note, Prompt, SessionStarted, ToolCalled, ToolReturned, TurnEnded, Usage,
};
use belay_core::{CallStatus, Excerpt, SessionKey};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{ID, kind_of, output};
use crate::lenient_json::{LenientOption, LenientString, LenientTime, LenientU64, text_of, usage_with_cached_input};
use crate::recent_ids::RecentIds;
use crate::transcript::{
    LineError, LineParser, ReadError, ReadStats, RecordPosition, Sink, TranscriptEventBuilder, TranscriptFormat,
    file_stem, first_line, parse, read_items,
};

/// Session files in lines.
#[derive(Debug)]
pub struct GeminiLinesFormat;

impl TranscriptFormat for GeminiLinesFormat {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, _path: &Path, head: &[u8]) -> bool {
        serde_json::from_str::<Line<'_>>(&first_line(head))
            .is_ok_and(|line| line.session_id.non_empty().is_some() && line.project_hash.non_empty().is_some())
    }

    fn line_parser(&self, path: &Path) -> Option<Box<dyn LineParser + Send>> {
        Some(Box::new(GeminiParser::new(path)))
    }
}

/// Session files that are one document.
#[derive(Debug)]
pub struct GeminiDocumentFormat;

impl TranscriptFormat for GeminiDocumentFormat {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> bool {
        let head = &head[..head.len().min(1024)];
        let has = |name: &str| memchr::memmem::find(head, name.as_bytes()).is_some();
        path.extension().is_none_or(|ext| ext != "jsonl")
            && head.trim_ascii_start().starts_with(b"{")
            && has("\"sessionId\"")
            && has("\"projectHash\"")
    }

    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<ReadStats, ReadError> {
        let mut builder = TranscriptEventBuilder::new(SessionKey::new(ID, file_stem(path)), sink);
        read_items(path, "messages", &mut GeminiParser::new(path), &mut builder)
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    session_id: LenientString<'a>,
    project_hash: LenientString<'a>,
    start_time: LenientTime,
    id: LenientString<'a>,
    timestamp: LenientTime,
    #[serde(rename = "type")]
    kind: LenientString<'a>,
    content: Option<&'a RawValue>,
    tokens: LenientOption<Tokens>,
    model: LenientString<'a>,
    tool_calls: LenientOption<Vec<Call>>,
    #[serde(rename = "$set")]
    set: Option<&'a RawValue>,
    #[serde(rename = "$rewindTo")]
    rewind: Option<&'a RawValue>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input: LenientU64,
    output: LenientU64,
    cached: LenientU64,
    thoughts: LenientU64,
    tool: LenientU64,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let output = tokens.output.0.saturating_add(tokens.thoughts.0);
        let mut usage = usage_with_cached_input(tokens.input.0, output, tokens.cached.0, 0);
        usage.input = usage.input.saturating_add(tokens.tool.0);
        usage
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Call {
    id: String,
    name: String,
    args: Value,
    result: Value,
    status: String,
    result_display: Value,
    timestamp: Value,
}

/// The latest version of a model message.
#[derive(Debug)]
struct BufferedMessage {
    id: String,
    position: RecordPosition,
    text: String,
    model: Option<String>,
    usage: Option<Usage>,
    calls: Vec<Call>,
}

struct GeminiParser {
    transcript: String,
    project: Option<String>,
    started: bool,
    buffered: Option<BufferedMessage>,
    /// Ids of emitted messages, calls and results.
    emitted: RecentIds,
}

impl GeminiParser {
    fn new(path: &Path) -> Self {
        // `~/.gemini/tmp/<project>/chats/session-....jsonl`
        let dir = path.parent().filter(|dir| dir.ends_with("chats")).and_then(Path::parent);
        let root = dir.and_then(|dir| {
            belay_fs::read_regular_text(&dir.join(".project_root"), belay_fs::Links::Refuse, 4096).ok()
        });
        let name = dir.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        Self {
            transcript: path.to_string_lossy().into_owned(),
            project: root.map(|root| root.trim().to_owned()).filter(|root| !root.is_empty()).or(name),
            started: false,
            buffered: None,
            emitted: RecentIds::default(),
        }
    }

    /// Emits the parts of the buffered message that are new.
    fn flush(&mut self, turn_over: bool, builder: &mut TranscriptEventBuilder<'_>) {
        let Some(buffered) = self.buffered.take() else { return };
        let silent = buffered.calls.is_empty();
        let fresh = self.emitted.insert(&format!("answer {}", buffered.id));
        let new = |call: &&Call| !self.emitted.contains(&format!("call {}", call.id));
        let calls: Vec<ToolCalled> = buffered.calls.iter().filter(new).map(Call::emitted).collect();
        for call in &buffered.calls {
            self.emitted.insert(&format!("call {}", call.id));
        }
        builder.at_position(buffered.position, |builder| {
            if fresh {
                let answer = ModelAnswered {
                    response: Some(buffered.id.clone()),
                    model: buffered.model,
                    usage: buffered.usage,
                    text: Excerpt::new(&buffered.text),
                    ..ModelAnswered::default()
                };
                builder.push_answer(Some(buffered.id.clone()), answer, calls);
            } else {
                for call in calls {
                    builder.batch = Some(buffered.id.clone());
                    builder.push(Body::ToolCalled(call));
                }
            }
            for call in buffered.calls.iter().filter(|call| call.is_done()) {
                if self.emitted.insert(&format!("result {}", call.id)) {
                    call.push_result(builder);
                }
            }
            if silent && fresh && turn_over {
                builder.push(Body::TurnEnded(TurnEnded { text: Excerpt::new(&buffered.text), ..TurnEnded::default() }));
            }
        });
    }

    fn model(&mut self, line: Line<'_>, builder: &mut TranscriptEventBuilder<'_>) {
        if self.buffered.as_ref().is_some_and(|buffered| *buffered.id != *line.id) {
            self.flush(false, builder);
        }
        let position = self.buffered.take().map_or_else(|| builder.position(), |buffered| buffered.position);
        self.buffered = Some(BufferedMessage {
            id: line.id.to_string(),
            position,
            text: line.content.map(|raw| text_of(raw.get()).into_owned()).unwrap_or_default(),
            model: line.model.owned(),
            usage: line.tokens.0.map(Usage::from),
            calls: line.tool_calls.0.unwrap_or_default(),
        });
    }

    fn user(&mut self, line: &Line<'_>, builder: &mut TranscriptEventBuilder<'_>) {
        let parts: Vec<Value> = line.content.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let has_results = parts.iter().any(|part| part.get("functionResponse").is_some());
        let text = match line.content {
            Some(raw) if !has_results => text_of(raw.get()),
            _ => "".into(),
        };
        // Results are read from the message that contains their calls.
        self.flush(!has_results, builder);
        if !text.trim().is_empty() && !text.starts_with("<session_context>") && self.emitted.insert(&line.id) {
            builder.push(Body::Prompt(Prompt { by: Author::Person, text: Excerpt::new(&text) }));
        }
    }
}

impl Call {
    fn emitted(&self) -> ToolCalled {
        ToolCalled::new(Some(self.id.clone()), kind_of(&self.name), &self.name, &self.args)
    }

    fn is_done(&self) -> bool {
        matches!(&*self.status, "success" | "error" | "cancelled") || !self.result.is_null()
    }

    fn push_result(&self, builder: &mut TranscriptEventBuilder<'_>) {
        let text = self.result_text();
        let output = output::unwrap(kind_of(&self.name), &self.status, &text);
        let now = builder.at;
        builder.at = self.timestamp.as_str().and_then(belay_core::Timestamp::parse).unwrap_or(now);
        let call = Some(self.id.clone());
        builder.push(Body::ToolReturned(ToolReturned::new(
            call.clone(),
            Some(output.status),
            output.exit_code,
            &output.text,
        )));
        let text_at = |name: &str| self.result_display.get(name).and_then(Value::as_str);
        if let (Some(path), Some(new)) = (text_at("filePath").or(text_at("fileName")), text_at("newContent"))
            && output.status == CallStatus::Ok
        {
            let change = output::written_file(path, text_at("originalContent"), new, call);
            builder.push(Body::FileChanged(change));
        }
        builder.at = now;
    }

    /// The texts of all function responses.
    fn result_text(&self) -> String {
        let texts = self.result.as_array().into_iter().flatten().filter_map(|part| {
            let response = part.get("functionResponse")?.get("response")?;
            let text = response.get("output").or(response.get("error"))?;
            Some(text.as_str().map_or_else(|| text.to_string(), str::to_owned))
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl LineParser for GeminiParser {
    fn line(&mut self, text: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let line: Line<'_> = parse(text)?;
        builder.at = line.timestamp.or(line.start_time.or(builder.at));
        if let Some(id) = line.session_id.non_empty()
            && !self.started
        {
            self.started = true;
            builder.session = SessionKey::new(ID, id);
            builder.push(Body::SessionStarted(SessionStarted {
                project: self.project.clone(),
                transcript: Some(self.transcript.clone()),
                ..SessionStarted::default()
            }));
            return Ok(());
        }
        if line.set.is_some() || line.rewind.is_some() {
            return Ok(());
        }
        if let Some(id) = line.id.non_empty() {
            builder.start_record(format_args!("{id}"));
        }
        let words = || line.content.map(|raw| text_of(raw.get())).unwrap_or_default();
        match &*line.kind {
            "gemini" => self.model(line, builder),
            "user" => self.user(&line, builder),
            "error" => {
                let message = Excerpt::with_limit(&words(), 512);
                self.flush(false, builder);
                builder.push(Body::ModelFailed(ModelFailed { message, ..ModelFailed::default() }));
            }
            "info" | "warning" => {
                let note = Excerpt::with_limit(&words(), 512);
                self.flush(false, builder);
                builder.push(Body::Note(Note { text: note }));
            }
            _ if line.session_id.non_empty().is_some() => {}
            _ => return Err(LineError::Unknown),
        }
        Ok(())
    }

    fn end(&mut self, builder: &mut TranscriptEventBuilder<'_>) {
        self.flush(true, builder);
    }
}
