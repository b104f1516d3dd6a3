//! Gemini CLI's session files: lines (0.5x on) or one JSON document (before).
//!
//! A message is written again under its id when its tool calls complete; the last writing wins. So
//! a message is held until another one begins, and a late rewriting adds only what is new.

use std::path::Path;

use belay_core::event::{
    Author, Body, ModelAnswered, ModelFailed, Note, Prompt, SessionStarted, ToolCalled, ToolReturned, TurnEnded, Usage,
};
use belay_core::{CallStatus, Excerpt, SessionKey};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{ID, kind_of, output};
use crate::lenient_json::{LenientOption, LenientString, LenientTime, LenientU64, text_of};
use crate::recent_ids::RecentIds;
use crate::transcript::{
    LineError, LineParser, ReadError, ReadStats, RecordPosition, Sink, TranscriptEventBuilder, TranscriptFormat,
    file_stem, first_line, parse, read_items, read_lines,
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

    fn lines(&self, path: &Path) -> Option<Box<dyn LineParser + Send>> {
        Some(Box::new(GeminiParser::new(path)))
    }

    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<ReadStats, ReadError> {
        let mut teller = TranscriptEventBuilder::new(SessionKey::new(ID, file_stem(path)), sink);
        read_lines(path, &mut GeminiParser::new(path), &mut teller)
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
        path.extension().is_some_and(|ext| ext == "json") && has("\"sessionId\"") && has("\"projectHash\"")
    }

    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<ReadStats, ReadError> {
        let mut teller = TranscriptEventBuilder::new(SessionKey::new(ID, file_stem(path)), sink);
        read_items(path, "messages", &mut GeminiParser::new(path), &mut teller)
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
        Self {
            input: tokens.input.0.saturating_sub(tokens.cached.0).saturating_add(tokens.tool.0),
            output: tokens.output.0.saturating_add(tokens.thoughts.0),
            cache_read: tokens.cached.0,
            cache_write: 0,
        }
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

/// A model message, as its last writing has it.
#[derive(Debug)]
struct BufferedMessage {
    id: String,
    mark: RecordPosition,
    said: String,
    model: Option<String>,
    usage: Option<Usage>,
    calls: Vec<Call>,
}

struct GeminiParser {
    transcript: String,
    project: Option<String>,
    started: bool,
    held: Option<BufferedMessage>,
    /// Messages, calls and results told.
    told: RecentIds,
}

impl GeminiParser {
    fn new(path: &Path) -> Self {
        // `~/.gemini/tmp/<project>/chats/session-....jsonl`
        let folder = path.parent().filter(|folder| folder.ends_with("chats")).and_then(Path::parent);
        let root = folder.and_then(|folder| std::fs::read_to_string(folder.join(".project_root")).ok());
        let name = folder.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        Self {
            transcript: path.to_string_lossy().into_owned(),
            project: root.map(|root| root.trim().to_owned()).filter(|root| !root.is_empty()).or(name),
            started: false,
            held: None,
            told: RecentIds::default(),
        }
    }

    /// Tells the held message, as far as it has not been told.
    fn release(&mut self, turn_over: bool, teller: &mut TranscriptEventBuilder<'_>) {
        let Some(held) = self.held.take() else { return };
        let silent = held.calls.is_empty();
        let fresh = self.told.insert(&format!("answer {}", held.id));
        let new = |call: &&Call| !self.told.contains(&format!("call {}", call.id));
        let calls: Vec<ToolCalled> = held.calls.iter().filter(new).map(Call::told).collect();
        for call in &held.calls {
            self.told.insert(&format!("call {}", call.id));
        }
        teller.set_position(held.mark, |teller| {
            if fresh {
                let answer = ModelAnswered {
                    response: Some(held.id.clone()),
                    model: held.model,
                    usage: held.usage,
                    text: Excerpt::new(&held.said),
                    ..ModelAnswered::default()
                };
                teller.push_answer(Some(held.id.clone()), answer, calls);
            } else {
                for call in calls {
                    teller.batch = Some(held.id.clone());
                    teller.push(Body::ToolCalled(call));
                }
            }
            for call in held.calls.iter().filter(|call| call.is_done()) {
                if self.told.insert(&format!("result {}", call.id)) {
                    call.tell_result(teller);
                }
            }
            if silent && fresh && turn_over {
                teller.push(Body::TurnEnded(TurnEnded { text: Excerpt::new(&held.said), ..TurnEnded::default() }));
            }
        });
    }

    fn model(&mut self, line: Line<'_>, teller: &mut TranscriptEventBuilder<'_>) {
        if self.held.as_ref().is_some_and(|held| *held.id != *line.id) {
            self.release(false, teller);
        }
        let mark = self.held.take().map_or_else(|| teller.position(), |held| held.mark);
        self.held = Some(BufferedMessage {
            id: line.id.to_string(),
            mark,
            said: line.content.map(|raw| text_of(raw.get()).into_owned()).unwrap_or_default(),
            model: line.model.owned(),
            usage: line.tokens.0.map(Usage::from),
            calls: line.tool_calls.0.unwrap_or_default(),
        });
    }

    fn user(&mut self, line: &Line<'_>, teller: &mut TranscriptEventBuilder<'_>) {
        let parts: Vec<Value> = line.content.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let has_results = parts.iter().any(|part| part.get("functionResponse").is_some());
        let text = match line.content {
            Some(raw) if !has_results => text_of(raw.get()),
            _ => "".into(),
        };
        // Results stand in the message whose calls they answer.
        self.release(!has_results, teller);
        if !text.trim().is_empty() && !text.starts_with("<session_context>") && self.told.insert(&line.id) {
            teller.push(Body::Prompt(Prompt { by: Author::Person, text: Excerpt::new(&text) }));
        }
    }
}

impl Call {
    fn told(&self) -> ToolCalled {
        ToolCalled::new(Some(self.id.clone()), kind_of(&self.name), &self.name, &self.args)
    }

    fn is_done(&self) -> bool {
        matches!(&*self.status, "success" | "error" | "cancelled") || !self.result.is_null()
    }

    fn tell_result(&self, teller: &mut TranscriptEventBuilder<'_>) {
        let text = self.result_text();
        let output = output::unwrap(kind_of(&self.name), &self.status, &text);
        let now = teller.at;
        teller.at = self.timestamp.as_str().and_then(belay_core::Timestamp::parse).unwrap_or(now);
        let call = Some(self.id.clone());
        teller.push(Body::ToolReturned(ToolReturned::new(
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
            teller.push(Body::FileChanged(change));
        }
        teller.at = now;
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
    fn line(&mut self, text: &str, teller: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let line: Line<'_> = parse(text)?;
        teller.at = line.timestamp.or(line.start_time.or(teller.at));
        if let Some(id) = line.session_id.non_empty()
            && !self.started
        {
            self.started = true;
            teller.session = SessionKey::new(ID, id);
            teller.push(Body::SessionStarted(SessionStarted {
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
            teller.start_record(format_args!("{id}"));
        }
        let words = || line.content.map(|raw| text_of(raw.get())).unwrap_or_default();
        match &*line.kind {
            "gemini" => self.model(line, teller),
            "user" => self.user(&line, teller),
            "error" => {
                let message = Excerpt::with_limit(&words(), 512);
                self.release(false, teller);
                teller.push(Body::ModelFailed(ModelFailed { message, ..ModelFailed::default() }));
            }
            "info" | "warning" => {
                let note = Excerpt::with_limit(&words(), 512);
                self.release(false, teller);
                teller.push(Body::Note(Note { text: note }));
            }
            _ if line.session_id.non_empty().is_some() => {}
            _ => return Err(LineError::Unknown),
        }
        Ok(())
    }

    fn end(&mut self, teller: &mut TranscriptEventBuilder<'_>) {
        self.release(true, teller);
    }
}
