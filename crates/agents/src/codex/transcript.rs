//! Codex rollouts, versions 0.2x to 0.16x.
//!
//! A rollout holds the conversation (`response_item`) and, beside it, events that say parts of it
//! again (`event_msg`): calls, outputs and words are taken from the conversation; usage, aborts and
//! errors from the events. One model response is a run of items that its usage record, an output or
//! another speaker ends.

mod answer;
mod change;
pub(super) mod prompt;
mod record;

use std::collections::VecDeque;
use std::path::Path;

use belay_core::event::{
    Body, Compacted, Learned, LimitHit, ModelFailed, Note, Prompt, SessionStarted, StartKind, SubAgent, ToolCalled,
    ToolReturned, TurnEnded,
};
use belay_core::{Excerpt, SessionKey, Status};
use serde_json::Value;
use serde_json::value::RawValue;

use self::answer::Gathered;
use self::prompt::Said;
use self::record::{Action, Completed, Item, Line, Message, Meta, Tokens, Turn, UsageRecord};
use super::{ID, output, tools};
use crate::json::text_of;
use crate::transcript::{
    Dialect, Flaw, Format, ReadError, Sink, Tally, Teller, first_line, marks, parse, read_lines, stem,
};

/// The format.
#[derive(Debug)]
pub struct Transcript;

impl Format for Transcript {
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

    fn lines(&self, path: &Path) -> Option<Box<dyn Dialect + Send>> {
        Some(Box::new(Reader { transcript: path.to_string_lossy().into_owned(), ..Reader::default() }))
    }

    fn marks(&self, path: &Path, head: &[u8]) -> Vec<u64> {
        let mut marks = marks::of_fields(head, &["call_id"]);
        marks.extend(marks::of_name(ID, path));
        marks
    }

    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<Tally, ReadError> {
        let stem = stem(path);
        // `rollout-<time>-<thread>`: the id is the last 36 characters.
        let id = stem.len().checked_sub(36).and_then(|at| stem.get(at..)).unwrap_or(&stem);
        let mut teller = Teller::new(SessionKey::new(ID, id), sink);
        let mut reader = Reader { transcript: path.to_string_lossy().into_owned(), ..Reader::default() };
        read_lines(path, &mut reader, &mut teller)
    }
}

/// How many calls are kept in mind.
const KEPT: usize = 256;

#[derive(Default)]
struct Reader {
    transcript: String,
    started: bool,
    /// A thread that only makes a title: what it costs counts, what it does is no work.
    auxiliary: bool,
    model: Option<String>,
    gathered: Gathered,
    /// Usage comes in records of its own; the older counters repeat it.
    has_usage_records: bool,
    last_total: Option<Tokens>,
    usages: u32,
    said: prompt::Heard,
    turn_over: bool,
    compacted: bool,
    /// Calls whose command went on in the background.
    running: VecDeque<String>,
    /// Calls that start sub-agents.
    spawning: VecDeque<String>,
}

impl Reader {
    fn meta(&mut self, raw: &str, teller: &mut Teller<'_>) -> Result<(), Flaw> {
        let meta: Meta<'_> = serde_json::from_str(raw).map_err(|_| Flaw::Unknown)?;
        // A forked thread carries a copy of its origin, header included; only the first is its own.
        if self.started {
            return Ok(());
        }
        self.started = true;
        if let Some(id) = meta.id.some() {
            teller.session = SessionKey::new(ID, id);
        }
        let parent = meta.parent_thread_id.owned().or_else(|| spawned_by(meta.source?));
        teller.parent = parent.map(|id| SessionKey::new(ID, id));
        teller.cwd = meta.cwd.owned();
        self.auxiliary = &*meta.thread_source == "thread_title";
        let forked = meta.forked_from_id.some().is_some();
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

    fn tell(&self, body: Body, teller: &mut Teller<'_>) {
        if !self.auxiliary {
            teller.tell(body);
        }
    }

    fn item(&mut self, raw: &str, teller: &mut Teller<'_>) -> Result<(), Flaw> {
        let item: Item<'_> = serde_json::from_str(raw).map_err(|_| Flaw::Unknown)?;
        let id = item.call_id.some().or(item.id.some()).map(str::to_owned);
        match &*item.kind {
            "message" if &*item.role == "assistant" => {
                let text = item.content.map(|raw| text_of(raw.get())).unwrap_or_default();
                self.model_speaks(teller);
                self.gathered.say(&text);
            }
            "message" if &*item.role == "user" => {
                let text = item.content.map(|raw| text_of(raw.get())).unwrap_or_default();
                self.heard(prompt::said(&text), &text, teller);
            }
            "function_call" => {
                let arguments = item.arguments.map(|raw| text_of(raw.get())).unwrap_or_default();
                self.call(id, &item.name, tools::input(&arguments), teller);
            }
            "custom_tool_call" => {
                self.call(id, &item.name, Value::String(item.input.to_string()), teller);
            }
            "local_shell_call" => {
                let action = item.action.and_then(|raw| serde_json::from_str::<Action>(raw.get()).ok());
                let action = action.unwrap_or_default();
                let input = tools::local_shell(action.command.0.unwrap_or_default(), action.working_directory.0);
                self.call(id, "local_shell", input, teller);
            }
            // Its answer is not recorded.
            "web_search_call" => {
                let query = item.action.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
                self.call(id, "web_search", query, teller);
            }
            "tool_search_call" => {
                let query = item.arguments.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
                self.call(id, "tool_search", query, teller);
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" | "tool_search_output" => {
                let text = item.output.map(|raw| text_of(raw.get())).unwrap_or_default();
                self.answered(id, output::unwrap(text), teller);
            }
            "reasoning" | "message" | "ghost_snapshot" | "compaction" | "image_generation_call" => {}
            _ => return Err(Flaw::Unknown),
        }
        Ok(())
    }

    /// The model says or does something: what was heard before has been heard.
    fn model_speaks(&mut self, teller: &mut Teller<'_>) {
        self.said.forget();
        self.turn_over = false;
        self.compacted = false;
        self.gathered.begin(teller);
    }

    fn call(&mut self, id: Option<String>, name: &str, input: Value, teller: &mut Teller<'_>) {
        self.model_speaks(teller);
        let call = ToolCalled::new(id.clone(), tools::kind_of(name, &input), name, &input);
        if name == "spawn_agent" {
            keep(&mut self.spawning, id.unwrap_or_default());
        }
        self.gathered.call(teller.at, call);
    }

    fn answered(&mut self, id: Option<String>, output: output::Output<'_>, teller: &mut Teller<'_>) {
        self.finish_answer(teller);
        if output.status == Some(Status::Running) {
            keep(&mut self.running, id.clone().unwrap_or_default());
        }
        let mut returned = ToolReturned::new(id.clone(), output.status, output.exit_code, &output.text);
        returned.duration_ms = output.duration_ms;
        self.tell(Body::ToolReturned(returned), teller);
        if let Some(at) = self.spawning.iter().position(|call| Some(call) == id.as_ref()) {
            self.spawning.remove(at);
            if let Some(child) = spawned(&output.text) {
                self.tell(Body::SubAgentStarted(SubAgent { child, role: None }), teller);
            }
        }
    }

    fn finish_answer(&mut self, teller: &mut Teller<'_>) {
        let auxiliary = self.auxiliary;
        self.gathered.tell(self.model.as_deref(), None, auxiliary, teller);
    }

    /// Somebody else speaks, or nobody any more.
    fn end_turn(&mut self, teller: &mut Teller<'_>) {
        self.finish_answer(teller);
        if let Some(text) = self.gathered.last_words()
            && !self.turn_over
        {
            self.turn_over = true;
            self.tell(Body::TurnEnded(TurnEnded { text, ..TurnEnded::default() }), teller);
        }
    }

    fn heard(&mut self, said: Said, text: &str, teller: &mut Teller<'_>) {
        match said {
            Said::By(by) => {
                if self.said.again(text) {
                    return;
                }
                self.end_turn(teller);
                let by = if teller.parent.is_some() { prompt::in_sub_agent(by) } else { by };
                self.tell(Body::Prompt(Prompt { by, text: Excerpt::new(text) }), teller);
                if let Some(child) = prompt::ended_sub_agent(text) {
                    let sub = SubAgent { child: SessionKey::new(ID, child), role: None };
                    self.tell(Body::SubAgentEnded(sub), teller);
                }
            }
            Said::Noise => {}
        }
    }

    fn usage(&mut self, response: Option<&str>, tokens: Tokens, teller: &mut Teller<'_>) {
        let auxiliary = self.auxiliary;
        if self.gathered.is_pending() {
            self.gathered.tell(self.model.as_deref(), Some((response, tokens.into())), auxiliary, teller);
            return;
        }
        // The answer was told before its cost was known.
        self.usages += 1;
        let response = response.map_or_else(|| format!("{}-usage-{}", teller.session.id, self.usages), str::to_owned);
        teller.tell(Body::Learned(Learned {
            response: Some(response),
            usage: Some(tokens.into()),
            model: self.model.clone(),
            ..Learned::default()
        }));
    }

    fn event(&mut self, raw: &str, teller: &mut Teller<'_>) -> Result<(), Flaw> {
        let message: Message<'_> = serde_json::from_str(raw).map_err(|_| Flaw::Unknown)?;
        match &*message.kind {
            "user_message" => self.heard(prompt::said(&message.message), &message.message, teller),
            "token_count" => {
                let info = message.info.0.unwrap_or_default();
                // The same total again is only news about rate limits.
                if let (Some(total), Some(last)) = (info.total_token_usage.0, info.last_token_usage.0)
                    && self.last_total != Some(total)
                {
                    self.last_total = Some(total);
                    if !self.has_usage_records {
                        self.usage(None, last, teller);
                    }
                }
            }
            "task_complete" | "turn_complete" => {
                self.finish_answer(teller);
                if !self.turn_over {
                    self.turn_over = true;
                    let text = Excerpt::new(&message.last_agent_message);
                    self.tell(Body::TurnEnded(TurnEnded { text, ..TurnEnded::default() }), teller);
                }
            }
            "turn_aborted" => {
                self.finish_answer(teller);
                self.gathered.last_words();
                self.turn_over = true;
                let why = message.reason.some().unwrap_or("interrupted");
                self.tell(Body::Note(Note { text: Excerpt::new(&format!("The turn was aborted: {why}.")) }), teller);
            }
            "error" | "stream_error" => {
                self.finish_answer(teller);
                let info = message.codex_error_info.map(RawValue::get).unwrap_or_default();
                let body = failure(&message.message, info);
                self.tell(body, teller);
            }
            "context_compacted" => self.condensed(teller),
            "exec_command_end" => self.ended(&message.call_id, message.exit_code.0, teller),
            "patch_apply_end" if message.success.0 != Some(false) => {
                self.changed(&message.call_id, message.changes, teller);
            }
            "item_completed" => {
                let item = message.item.and_then(|raw| serde_json::from_str::<Completed<'_>>(raw.get()).ok());
                let Some(item) = item else { return Err(Flaw::Unknown) };
                match &*item.kind {
                    "CommandExecution" => self.ended(&item.id, item.exit_code.0, teller),
                    "FileChange" if &*item.status != "failed" => self.changed(&item.id, item.changes, teller),
                    "UserMessage" => {
                        let text = item.content.map(|raw| text_of(raw.get())).unwrap_or_default();
                        self.heard(prompt::said(&text), &text, teller);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A command that went on in the background has ended.
    fn ended(&mut self, call: &str, exit_code: Option<i32>, teller: &mut Teller<'_>) {
        let Some(at) = self.running.iter().position(|running| running == call) else { return };
        if exit_code.is_some() {
            self.running.remove(at);
            self.finish_answer(teller);
            self.tell(Body::Learned(Learned { call: Some(call.to_owned()), exit_code, ..Learned::default() }), teller);
        }
    }

    fn changed(&mut self, call: &str, changes: Option<&RawValue>, teller: &mut Teller<'_>) {
        let Some(changes) = changes else { return };
        // Told after the call it belongs to.
        self.finish_answer(teller);
        for change in change::changes(call, changes.get()) {
            self.tell(Body::FileChanged(change), teller);
        }
    }

    fn condensed(&mut self, teller: &mut Teller<'_>) {
        self.finish_answer(teller);
        if !std::mem::replace(&mut self.compacted, true) {
            self.tell(Body::Compacted(Compacted { automatic: true, before: None }), teller);
        }
    }
}

impl Dialect for Reader {
    fn line(&mut self, text: &str, teller: &mut Teller<'_>) -> Result<(), Flaw> {
        let line: Line<'_> = parse(text)?;
        teller.at = line.timestamp.or(teller.at);
        let payload = line.payload.map_or(text, RawValue::get);
        match &*line.kind {
            "session_meta" => self.meta(payload, teller),
            "turn_context" => {
                let turn: Turn<'_> = serde_json::from_str(payload).map_err(|_| Flaw::Unknown)?;
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
                let record: UsageRecord<'_> = serde_json::from_str(payload).map_err(|_| Flaw::Unknown)?;
                self.has_usage_records = true;
                if let Some(tokens) = record.usage.0 {
                    self.usage(record.response_id.some(), tokens, teller);
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
            _ => Err(Flaw::Unknown),
        }
    }

    fn end(&mut self, teller: &mut Teller<'_>) {
        self.end_turn(teller);
    }
}

fn keep(kept: &mut VecDeque<String>, id: String) {
    if kept.len() == KEPT {
        kept.pop_front();
    }
    kept.push_back(id);
}

/// The parent named in `source`, as versions before `parent_thread_id` did.
fn spawned_by(source: &RawValue) -> Option<String> {
    let source: Value = serde_json::from_str(source.get()).ok()?;
    Some(source.get("subagent")?.get("thread_spawn")?.get("parent_thread_id")?.as_str()?.to_owned())
}

/// The thread a `spawn_agent` started.
fn spawned(output: &str) -> Option<SessionKey> {
    let output: Value = serde_json::from_str(output).ok()?;
    let id = ["agent_id", "thread_id", "new_thread_id"].iter().find_map(|name| output.get(name)?.as_str())?;
    Some(SessionKey::new(ID, id))
}

fn failure(message: &str, info: &str) -> Body {
    if info.contains("usage_limit") || message.contains("usage limit") {
        return Body::LimitHit(LimitHit { what: Excerpt::bounded(message, 512), resets_at: None });
    }
    let words = message.split(|c: char| !c.is_ascii_digit()).chain(info.split(|c: char| !c.is_ascii_digit()));
    let status = words.filter(|word| word.len() == 3).filter_map(|word| word.parse().ok());
    Body::ModelFailed(ModelFailed {
        status: status.into_iter().find(|code| (400..600).contains(code)),
        message: Excerpt::bounded(message, 512),
        retry_at: None,
    })
}
