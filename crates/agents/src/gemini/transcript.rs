//! Gemini CLI's session files: lines (0.5x on) or one JSON document (before).
//!
//! A message is written again under its id when its tool calls complete; the last writing wins. So
//! a message is held until another one begins, and a late rewriting adds only what is new.

use std::path::Path;

use belay_core::event::{
    Author, Body, ModelAnswered, ModelFailed, Note, Prompt, SessionStarted, ToolCalled, ToolReturned, TurnEnded, Usage,
};
use belay_core::{Excerpt, SessionKey, Status};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{ID, kind_of, output};
use crate::json::{Count, Maybe, Stamp, Text, text_of};
use crate::recent::Recent;
use crate::transcript::{
    Dialect, Flaw, Format, Mark, ReadError, Sink, Tally, Teller, first_line, parse, read_items, read_lines, stem,
};

/// Session files in lines.
#[derive(Debug)]
pub struct Transcript;

impl Format for Transcript {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, _path: &Path, head: &[u8]) -> bool {
        serde_json::from_str::<Line<'_>>(&first_line(head))
            .is_ok_and(|line| line.session_id.some().is_some() && line.project_hash.some().is_some())
    }

    fn lines(&self, path: &Path) -> Option<Box<dyn Dialect + Send>> {
        Some(Box::new(Reader::new(path)))
    }

    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<Tally, ReadError> {
        let mut teller = Teller::new(SessionKey::new(ID, stem(path)), sink);
        read_lines(path, &mut Reader::new(path), &mut teller)
    }
}

/// Session files that are one document.
#[derive(Debug)]
pub struct Document;

impl Format for Document {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> bool {
        let head = &head[..head.len().min(1024)];
        let has = |name: &str| memchr::memmem::find(head, name.as_bytes()).is_some();
        path.extension().is_some_and(|ext| ext == "json") && has("\"sessionId\"") && has("\"projectHash\"")
    }

    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<Tally, ReadError> {
        let mut teller = Teller::new(SessionKey::new(ID, stem(path)), sink);
        read_items(path, "messages", &mut Reader::new(path), &mut teller)
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    session_id: Text<'a>,
    project_hash: Text<'a>,
    start_time: Stamp,
    id: Text<'a>,
    timestamp: Stamp,
    #[serde(rename = "type")]
    kind: Text<'a>,
    content: Option<&'a RawValue>,
    tokens: Maybe<Tokens>,
    model: Text<'a>,
    tool_calls: Maybe<Vec<Call>>,
    #[serde(rename = "$set")]
    set: Option<&'a RawValue>,
    #[serde(rename = "$rewindTo")]
    rewind: Option<&'a RawValue>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input: Count,
    output: Count,
    cached: Count,
    thoughts: Count,
    tool: Count,
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
struct Held {
    id: String,
    mark: Mark,
    said: String,
    model: Option<String>,
    usage: Option<Usage>,
    calls: Vec<Call>,
}

struct Reader {
    transcript: String,
    project: Option<String>,
    started: bool,
    held: Option<Held>,
    /// Messages, calls and results told.
    told: Recent,
}

impl Reader {
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
            told: Recent::default(),
        }
    }

    /// Tells the held message, as far as it has not been told.
    fn release(&mut self, turn_over: bool, teller: &mut Teller<'_>) {
        let Some(held) = self.held.take() else { return };
        let silent = held.calls.is_empty();
        let fresh = self.told.insert(&format!("answer {}", held.id));
        let new = |call: &&Call| !self.told.contains(&format!("call {}", call.id));
        let calls: Vec<ToolCalled> = held.calls.iter().filter(new).map(Call::told).collect();
        for call in &held.calls {
            self.told.insert(&format!("call {}", call.id));
        }
        teller.speak_from(held.mark, |teller| {
            if fresh {
                let answer = ModelAnswered {
                    response: Some(held.id.clone()),
                    model: held.model,
                    usage: held.usage,
                    text: Excerpt::new(&held.said),
                    ..ModelAnswered::default()
                };
                teller.tell_answer(Some(held.id.clone()), answer, calls);
            } else {
                for call in calls {
                    teller.batch = Some(held.id.clone());
                    teller.tell(Body::ToolCalled(call));
                }
            }
            for call in held.calls.iter().filter(|call| call.is_done()) {
                if self.told.insert(&format!("result {}", call.id)) {
                    call.tell_result(teller);
                }
            }
            if silent && fresh && turn_over {
                teller.tell(Body::TurnEnded(TurnEnded { text: Excerpt::new(&held.said), ..TurnEnded::default() }));
            }
        });
    }

    fn model(&mut self, line: Line<'_>, teller: &mut Teller<'_>) {
        if self.held.as_ref().is_some_and(|held| *held.id != *line.id) {
            self.release(false, teller);
        }
        let mark = self.held.take().map_or_else(|| teller.mark(), |held| held.mark);
        self.held = Some(Held {
            id: line.id.to_string(),
            mark,
            said: line.content.map(|raw| text_of(raw.get()).into_owned()).unwrap_or_default(),
            model: line.model.owned(),
            usage: line.tokens.0.map(Usage::from),
            calls: line.tool_calls.0.unwrap_or_default(),
        });
    }

    fn user(&mut self, line: &Line<'_>, teller: &mut Teller<'_>) {
        let parts: Vec<Value> = line.content.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let has_results = parts.iter().any(|part| part.get("functionResponse").is_some());
        let text = match line.content {
            Some(raw) if !has_results => text_of(raw.get()),
            _ => "".into(),
        };
        // Results stand in the message whose calls they answer.
        self.release(!has_results, teller);
        if !text.trim().is_empty() && !text.starts_with("<session_context>") && self.told.insert(&line.id) {
            teller.tell(Body::Prompt(Prompt { by: Author::Person, text: Excerpt::new(&text) }));
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

    fn tell_result(&self, teller: &mut Teller<'_>) {
        let text = self.result_text();
        let output = output::unwrap(kind_of(&self.name), &self.status, &text);
        let now = teller.at;
        teller.at = self.timestamp.as_str().and_then(belay_core::Time::parse).unwrap_or(now);
        let call = Some(self.id.clone());
        teller.tell(Body::ToolReturned(ToolReturned::new(
            call.clone(),
            Some(output.status),
            output.exit_code,
            &output.text,
        )));
        let text_at = |name: &str| self.result_display.get(name).and_then(Value::as_str);
        if let (Some(path), Some(new)) = (text_at("filePath").or(text_at("fileName")), text_at("newContent"))
            && output.status == Status::Ok
        {
            let change = output::written(path, text_at("originalContent"), new, call);
            teller.tell(Body::FileChanged(change));
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

impl Dialect for Reader {
    fn line(&mut self, text: &str, teller: &mut Teller<'_>) -> Result<(), Flaw> {
        let line: Line<'_> = parse(text)?;
        teller.at = line.timestamp.or(line.start_time.or(teller.at));
        if let Some(id) = line.session_id.some()
            && !self.started
        {
            self.started = true;
            teller.session = SessionKey::new(ID, id);
            teller.tell(Body::SessionStarted(SessionStarted {
                project: self.project.clone(),
                transcript: Some(self.transcript.clone()),
                ..SessionStarted::default()
            }));
            return Ok(());
        }
        if line.set.is_some() || line.rewind.is_some() {
            return Ok(());
        }
        if let Some(id) = line.id.some() {
            teller.record(format_args!("{id}"));
        }
        let words = || line.content.map(|raw| text_of(raw.get())).unwrap_or_default();
        match &*line.kind {
            "gemini" => self.model(line, teller),
            "user" => self.user(&line, teller),
            "error" => {
                let message = Excerpt::bounded(&words(), 512);
                self.release(false, teller);
                teller.tell(Body::ModelFailed(ModelFailed { message, ..ModelFailed::default() }));
            }
            "info" | "warning" => {
                let note = Excerpt::bounded(&words(), 512);
                self.release(false, teller);
                teller.tell(Body::Note(Note { text: note }));
            }
            _ if line.session_id.some().is_some() => {}
            _ => return Err(Flaw::Unknown),
        }
        Ok(())
    }

    fn end(&mut self, teller: &mut Teller<'_>) {
        self.release(true, teller);
    }
}
