//! Codex rollouts, versions 0.2x to 0.16x.
//!
//! A rollout holds the conversation (`response_item`) and, beside it, events that say parts of it
//! again (`event_msg`): calls, outputs and words are taken from the conversation; usage, aborts and
//! errors from the events. One model response is a run of items that its usage record, an output or
//! another speaker ends.

mod event_msg;
mod file_changes;
mod record;
mod response_buffer;
mod response_item;
pub(super) mod user_prompt;

use std::collections::VecDeque;
use std::path::Path;

use belay_core::event::{Body, Compacted, Prompt, SessionStarted, StartKind, SubAgent, TurnEnded};
use belay_core::{Excerpt, SessionKey};
use serde_json::Value;
use serde_json::value::RawValue;

use self::record::{Line, Meta, Tokens, Turn, UsageRecord};
use self::response_buffer::ResponseBuffer;
use self::user_prompt::UserText;
use super::ID;
use crate::transcript::{
    LineError, LineParser, ReadError, ReadStats, Sink, TranscriptEventBuilder, TranscriptFormat, file_stem, first_line,
    fork_ids, parse, read_lines,
};

/// The format.
#[derive(Debug)]
pub struct CodexFormat;

impl TranscriptFormat for CodexFormat {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> bool {
        if path.extension().is_none_or(|ext| ext != "jsonl") {
            return false;
        }
        let named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-"));
        // The first line can be longer than the head: it carries the instructions.
        let first = first_line(&head[..head.len().min(256)]);
        let envelope = first.contains("\"payload\"") && first.contains("\"session_meta\"");
        envelope || named && first.trim_start().starts_with('{')
    }

    fn lines(&self, path: &Path) -> Option<Box<dyn LineParser + Send>> {
        Some(Box::new(CodexParser { transcript: path.to_string_lossy().into_owned(), ..CodexParser::default() }))
    }

    fn fork_ids(&self, path: &Path, head: &[u8]) -> Vec<u64> {
        let mut marks = fork_ids::of_fields(head, &["call_id"]);
        marks.extend(fork_ids::of_name(ID, path));
        marks
    }

    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<ReadStats, ReadError> {
        let stem = file_stem(path);
        // `rollout-<time>-<thread>`: the id is the last 36 characters.
        let id = stem.len().checked_sub(36).and_then(|at| stem.get(at..)).unwrap_or(&stem);
        let mut teller = TranscriptEventBuilder::new(SessionKey::new(ID, id), sink);
        let mut reader = CodexParser { transcript: path.to_string_lossy().into_owned(), ..CodexParser::default() };
        read_lines(path, &mut reader, &mut teller)
    }
}

#[derive(Default)]
struct CodexParser {
    transcript: String,
    started: bool,
    /// A thread that only makes a title: what it costs counts, what it does is no work.
    auxiliary: bool,
    model: Option<String>,
    gathered: ResponseBuffer,
    /// Usage comes in records of its own; the older counters repeat it.
    has_usage_records: bool,
    last_total: Option<Tokens>,
    usages: u32,
    said: user_prompt::LastPrompt,
    turn_over: bool,
    compacted: bool,
    /// Calls whose command went on in the background.
    running: VecDeque<String>,
    /// Calls that start sub-agents.
    spawning: VecDeque<String>,
}

impl CodexParser {
    fn meta(&mut self, raw: &str, teller: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let meta: Meta<'_> = serde_json::from_str(raw).map_err(|_| LineError::Unknown)?;
        // A forked thread carries a copy of its origin, header included; only the first is its own.
        if self.started {
            return Ok(());
        }
        self.started = true;
        if let Some(id) = meta.id.non_empty() {
            teller.session = SessionKey::new(ID, id);
        }
        let parent = meta.parent_thread_id.owned().or_else(|| spawned_by(meta.source?));
        teller.parent = parent.map(|id| SessionKey::new(ID, id));
        teller.cwd = meta.cwd.owned();
        self.auxiliary = &*meta.thread_source == "thread_title";
        let forked = meta.forked_from_id.non_empty().is_some();
        self.tell(
            Body::SessionStarted(SessionStarted {
                how: if forked { StartKind::Forked } else { StartKind::New },
                agent_version: meta.cli_version.owned(),
                project: meta.cwd.owned(),
                branch: meta.git.0.and_then(|git| git.branch.owned()),
                transcript: Some(self.transcript.clone()),
                ..SessionStarted::default()
            }),
            teller,
        );
        Ok(())
    }

    fn tell(&self, body: Body, teller: &mut TranscriptEventBuilder<'_>) {
        if !self.auxiliary {
            teller.push(body);
        }
    }

    /// The model says or does something: what was heard before has been heard.
    fn model_speaks(&mut self, teller: &mut TranscriptEventBuilder<'_>) {
        self.said.forget();
        self.turn_over = false;
        self.compacted = false;
        self.gathered.begin(teller);
    }

    fn finish_answer(&mut self, teller: &mut TranscriptEventBuilder<'_>) {
        let auxiliary = self.auxiliary;
        self.gathered.flush(self.model.as_deref(), None, auxiliary, teller);
    }

    /// Somebody else speaks, or nobody any more.
    fn end_turn(&mut self, teller: &mut TranscriptEventBuilder<'_>) {
        self.finish_answer(teller);
        if let Some(text) = self.gathered.last_text()
            && !self.turn_over
        {
            self.turn_over = true;
            self.tell(Body::TurnEnded(TurnEnded { text, ..TurnEnded::default() }), teller);
        }
    }

    fn heard(&mut self, said: UserText, text: &str, teller: &mut TranscriptEventBuilder<'_>) {
        match said {
            UserText::By(by) => {
                if self.said.is_repeat(text) {
                    return;
                }
                self.end_turn(teller);
                let by = if teller.parent.is_some() { user_prompt::in_sub_agent(by) } else { by };
                self.tell(Body::Prompt(Prompt { by, text: Excerpt::new(text) }), teller);
                if let Some(child) = user_prompt::ended_sub_agent(text) {
                    let sub = SubAgent { child: SessionKey::new(ID, child), role: None };
                    self.tell(Body::SubAgentEnded(sub), teller);
                }
            }
            UserText::Noise => {}
        }
    }

    fn condensed(&mut self, teller: &mut TranscriptEventBuilder<'_>) {
        self.finish_answer(teller);
        if !std::mem::replace(&mut self.compacted, true) {
            self.tell(Body::Compacted(Compacted { automatic: true, before: None }), teller);
        }
    }
}

impl LineParser for CodexParser {
    fn line(&mut self, text: &str, teller: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let line: Line<'_> = parse(text)?;
        teller.at = line.timestamp.or(teller.at);
        let payload = line.payload.map_or(text, RawValue::get);
        match &*line.kind {
            "session_meta" => self.meta(payload, teller),
            "turn_context" => {
                let turn: Turn<'_> = serde_json::from_str(payload).map_err(|_| LineError::Unknown)?;
                if let Some(model) = turn.model.owned() {
                    self.model = Some(model);
                }
                if let Some(cwd) = turn.cwd.owned() {
                    teller.cwd = Some(cwd);
                }
                Ok(())
            }
            "response_item" => self.item(payload, teller),
            "event_msg" => self.event(payload, teller),
            "token_usage_record" => {
                let record: UsageRecord<'_> = serde_json::from_str(payload).map_err(|_| LineError::Unknown)?;
                self.has_usage_records = true;
                if let Some(tokens) = record.usage.0 {
                    self.usage(record.response_id.non_empty(), tokens, teller);
                }
                Ok(())
            }
            "compacted" => {
                self.condensed(teller);
                Ok(())
            }
            "world_state" | "inter_agent_communication" => Ok(()),
            // Before the envelope: the header has no type, items stand bare.
            "" if line.payload.is_none() && !self.started => self.meta(text, teller),
            "" if text.contains("\"record_type\"") => Ok(()),
            _ if line.payload.is_none() => self.item(text, teller),
            _ => Err(LineError::Unknown),
        }
    }

    fn end(&mut self, teller: &mut TranscriptEventBuilder<'_>) {
        self.end_turn(teller);
    }
}

/// The parent named in `source`, as versions before `parent_thread_id` did.
fn spawned_by(source: &RawValue) -> Option<String> {
    let source: Value = serde_json::from_str(source.get()).ok()?;
    Some(source.get("subagent")?.get("thread_spawn")?.get("parent_thread_id")?.as_str()?.to_owned())
}
