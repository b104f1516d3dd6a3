//! Codex rollouts, versions 0.2x to 0.16x.
//!
//! A rollout contains the conversation (`response_item`) and events that partly repeat it (`event_msg`). Calls, outputs
//! and texts are read from the conversation; usage, aborts and errors from the events. One model response is a sequence
//! of items that ends with its usage record, an output or a prompt.

mod event_msg;
mod file_changes;
mod rate_limits;
mod record;
mod response_buffer;
mod response_item;
pub(super) mod user_prompt;

use std::collections::VecDeque;
use std::path::Path;

use belay_core::event::{Body, Compacted, Prompt, SessionStarted, StartKind, SubAgent, TurnEnded};
use belay_core::{Excerpt, SessionKey, Timestamp};
use serde_json::Value;
use serde_json::value::RawValue;

use self::record::{Line, Meta, Tokens, Turn, UsageRecord};
use self::response_buffer::ResponseBuffer;
use self::user_prompt::UserText;
use super::ID;
use crate::quota::ReportedQuota;
use crate::transcript::{
    LineError, LineParser, TranscriptEventBuilder, TranscriptFormat, file_stem, first_line, fork_ids, parse,
};

/// The transcript format.
#[derive(Debug)]
pub struct CodexFormat;

impl TranscriptFormat for CodexFormat {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> bool {
        let named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-"));
        // The first line can be longer than the head: it carries the instructions.
        let first = first_line(&head[..head.len().min(256)]);
        let envelope = first.contains("\"payload\"") && first.contains("\"session_meta\"");
        // Until September 2025, the header had no envelope.
        let bare =
            first.starts_with("{\"id\":\"") && first.contains("\"timestamp\":") && first.contains("\"instructions\":");
        envelope || bare || named && first.trim_start().starts_with('{')
    }

    fn line_parser(&self, path: &Path) -> Option<Box<dyn LineParser + Send>> {
        Some(Box::new(CodexParser { transcript: path.to_string_lossy().into_owned(), ..CodexParser::default() }))
    }

    fn fork_ids(&self, path: &Path, head: &[u8]) -> Vec<u64> {
        let mut marks = fork_ids::of_fields(head, &["call_id"]);
        marks.extend(fork_ids::of_name(ID, path));
        marks
    }

    fn quotas(&self, tail: &str) -> Option<(Timestamp, Vec<ReportedQuota>)> {
        rate_limits::newest(tail)
    }

    fn session(&self, path: &Path) -> SessionKey {
        let stem = file_stem(path);
        // `rollout-<time>-<thread>`: the id is the last 36 characters.
        let id = stem.len().checked_sub(36).and_then(|at| stem.get(at..)).unwrap_or(&stem);
        SessionKey::new(ID, id)
    }
}

#[derive(Default)]
struct CodexParser {
    transcript: String,
    started: bool,
    /// A thread that only generates a title: its cost counts, its calls do not.
    auxiliary: bool,
    model: Option<String>,
    response: ResponseBuffer,
    /// The file has usage records; the older counters repeat them.
    has_usage_records: bool,
    last_total: Option<Tokens>,
    usages: u32,
    last_prompt: user_prompt::LastPrompt,
    turn_over: bool,
    compacted: bool,
    /// Calls whose command continues in the background.
    running: VecDeque<String>,
    /// Calls that start sub-agents.
    spawning: VecDeque<String>,
}

impl CodexParser {
    fn meta(&mut self, raw: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let meta: Meta<'_> = serde_json::from_str(raw).map_err(|_| LineError::Unknown)?;
        // A forked thread contains a copy of its origin, including the header; only the first header is its own.
        if self.started {
            return Ok(());
        }
        self.started = true;
        if let Some(id) = meta.id.non_empty() {
            builder.session = SessionKey::new(ID, id);
        }
        let parent = meta.parent_thread_id.owned().or_else(|| spawned_by(meta.source?));
        builder.parent = parent.map(|id| SessionKey::new(ID, id));
        builder.cwd = meta.cwd.owned();
        self.auxiliary = &*meta.thread_source == "thread_title";
        let forked = meta.forked_from_id.non_empty().is_some();
        self.push(
            Body::SessionStarted(SessionStarted {
                how: if forked { StartKind::Forked } else { StartKind::New },
                agent_version: meta.cli_version.owned(),
                project: meta.cwd.owned(),
                branch: meta.git.0.and_then(|git| git.branch.owned()),
                transcript: Some(self.transcript.clone()),
                ..SessionStarted::default()
            }),
            builder,
        );
        Ok(())
    }

    fn push(&self, body: Body, builder: &mut TranscriptEventBuilder<'_>) {
        if !self.auxiliary {
            builder.push(body);
        }
    }

    /// Handles output of the model: a prompt that follows is new.
    fn start_response(&mut self, builder: &mut TranscriptEventBuilder<'_>) {
        self.last_prompt.forget();
        self.turn_over = false;
        self.compacted = false;
        self.response.begin(builder);
    }

    fn flush_response(&mut self, builder: &mut TranscriptEventBuilder<'_>) {
        let auxiliary = self.auxiliary;
        self.response.flush(self.model.as_deref(), None, auxiliary, builder);
    }

    /// Handles a prompt or the end of the file.
    fn end_turn(&mut self, builder: &mut TranscriptEventBuilder<'_>) {
        self.flush_response(builder);
        if let Some(text) = self.response.take_final_text()
            && !self.turn_over
        {
            self.turn_over = true;
            self.push(Body::TurnEnded(TurnEnded { text, ..TurnEnded::default() }), builder);
        }
    }

    fn user_message(&mut self, last_prompt: UserText, text: &str, builder: &mut TranscriptEventBuilder<'_>) {
        match last_prompt {
            UserText::By(by) => {
                if self.last_prompt.is_repeat(text) {
                    return;
                }
                self.end_turn(builder);
                let by = if builder.parent.is_some() { user_prompt::in_sub_agent(by) } else { by };
                self.push(Body::Prompt(Prompt { by, text: Excerpt::new(text) }), builder);
                if let Some(child) = user_prompt::ended_sub_agent(text) {
                    let sub = SubAgent { child: SessionKey::new(ID, child), role: None };
                    self.push(Body::SubAgentEnded(sub), builder);
                }
            }
            UserText::Noise => {}
        }
    }

    fn compacted(&mut self, builder: &mut TranscriptEventBuilder<'_>) {
        self.flush_response(builder);
        if !std::mem::replace(&mut self.compacted, true) {
            self.push(Body::Compacted(Compacted { automatic: true, before: None }), builder);
        }
    }
}

impl LineParser for CodexParser {
    fn line(&mut self, text: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let line: Line<'_> = parse(text)?;
        builder.at = line.timestamp.or(builder.at);
        let payload = line.payload.map_or(text, RawValue::get);
        match &*line.kind {
            "session_meta" => self.meta(payload, builder),
            "turn_context" => {
                let turn: Turn<'_> = serde_json::from_str(payload).map_err(|_| LineError::Unknown)?;
                if let Some(model) = turn.model.owned() {
                    self.model = Some(model);
                }
                if let Some(cwd) = turn.cwd.owned() {
                    builder.cwd = Some(cwd);
                }
                Ok(())
            }
            "response_item" => self.item(payload, builder),
            "event_msg" => self.event(payload, builder),
            "token_usage_record" => {
                let record: UsageRecord<'_> = serde_json::from_str(payload).map_err(|_| LineError::Unknown)?;
                self.has_usage_records = true;
                if let Some(tokens) = record.usage.0 {
                    self.usage(record.response_id.non_empty(), tokens, builder);
                }
                Ok(())
            }
            "compacted" => {
                self.compacted(builder);
                Ok(())
            }
            "world_state" | "inter_agent_communication" => Ok(()),
            // Before envelopes were introduced, the header had no type and items were bare.
            "" if line.payload.is_none() && !self.started => self.meta(text, builder),
            "" if text.contains("\"record_type\"") => Ok(()),
            _ if line.payload.is_none() => self.item(text, builder),
            _ => Err(LineError::Unknown),
        }
    }

    fn end(&mut self, builder: &mut TranscriptEventBuilder<'_>) {
        self.end_turn(builder);
    }
}

/// The parent in `source`, for versions without `parent_thread_id`.
fn spawned_by(source: &RawValue) -> Option<String> {
    let source: Value = serde_json::from_str(source.get()).ok()?;
    Some(source.get("subagent")?.get("thread_spawn")?.get("parent_thread_id")?.as_str()?.to_owned())
}
