//! Claude Code's session files, versions 1.0 to 2.1.
//!
//! One model message spans several lines with the same `message.id`. Each line has one content block and repeats `usage`,
//! so a message is buffered and emitted once. Sub-agents have their own files (`agent-<id>.jsonl`, next to the session or
//! under `<session>/subagents/`), or are inline in very old versions. `progress` lines repeat sub-agent output and are
//! skipped.

mod edit;
mod pending_message;
pub(crate) mod prompt_author;
mod record;
mod system_record;
mod tool_details;
pub(crate) mod tool_result;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::Path;

use belay_core::event::{Author, Body, Note, Prompt, SessionStarted, StartKind, SubAgent, ToolReturned};
use belay_core::{Excerpt, SessionKey, ToolKind};
use serde::Deserialize;
use serde_json::value::RawValue;

use self::edit::EditDetails;
use self::pending_message::{Call, CompletionReason, PendingMessage};
use self::prompt_author::{LineFlags, UserText};
use self::record::{Block, Content, Record};
use self::tool_details::Details;
use super::{ID, sub_agent_key};
use crate::lenient_json::{LenientString, is_valid_json};
use crate::transcript::{LineError, LineParser, TranscriptEventBuilder, TranscriptFormat, fork_ids};

/// The transcript format.
#[derive(Debug)]
pub struct ClaudeCodeFormat;

impl TranscriptFormat for ClaudeCodeFormat {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> bool {
        if path.extension().is_some_and(|ext| ext == "db") {
            return false;
        }
        // The first lines may have any type, but their ids identify Claude Code.
        let mut lines = head.split(|byte| *byte == b'\n').take(16);
        lines.any(|line| match serde_json::from_slice::<LineSignature<'_>>(line) {
            Ok(signature) => signature.is_ours(),
            Err(_) => starts_like_ours(line),
        })
    }

    fn line_parser(&self, path: &Path) -> Option<Box<dyn LineParser + Send>> {
        Some(Box::new(ClaudeCodeParser::new(path)))
    }

    fn fork_ids(&self, path: &Path, head: &[u8]) -> Vec<u64> {
        let mut flags = fork_ids::of_fields(head, &["uuid", "tool_use_id"]);
        flags.extend(fork_ids::of_name(ID, path));
        flags
    }

    fn session(&self, path: &Path) -> SessionKey {
        ClaudeCodeParser::new(path).main
    }
}

/// Fields that distinguish Claude Code from similar formats such as Qwen Code's.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LineSignature<'a> {
    #[serde(borrow, rename = "type")]
    kind: LenientString<'a>,
    #[serde(borrow)]
    session_id: LenientString<'a>,
    #[serde(borrow)]
    leaf_uuid: LenientString<'a>,
    #[serde(borrow)]
    is_sidechain: Option<&'a RawValue>,
    #[serde(borrow)]
    is_snapshot_update: Option<&'a RawValue>,
}

impl LineSignature<'_> {
    fn is_ours(&self) -> bool {
        match &*self.kind {
            "user" | "assistant" | "system" | "attachment" | "progress" => self.is_sidechain.is_some(),
            "summary" => self.leaf_uuid.non_empty().is_some(),
            "file-history-snapshot" => self.is_snapshot_update.is_some(),
            "queue-operation" => self.session_id.non_empty().is_some(),
            _ => false,
        }
    }
}

/// Whether a line that is longer than the head, such as a long first prompt, starts with the fields of Claude Code.
fn starts_like_ours(line: &[u8]) -> bool {
    let start = &line[..line.len().min(1024)];
    let has = |text: &str| memchr::memmem::find(start, text.as_bytes()).is_some();
    start.starts_with(b"{")
        && (has("\"isSidechain\":") || has("\"sessionId\":\"") && has("\"type\":\"queue-operation\""))
}

/// Maximum number of tracked sub-agents.
const MAX_SUB_AGENTS: usize = 64;

/// Capacity that the splice buffer retains.
const SPLICE_BUFFER_BYTES: usize = 256 * 1024;

/// State of one file.
struct ClaudeCodeParser {
    /// The file's own session: the conversation, or the sub-agent.
    main: SessionKey,
    /// The parent session of a sub-agent.
    parent: Option<SessionKey>,
    /// The file name is not a session id; the lines contain it.
    unnamed: bool,
    /// Id of the sub-agent, if this is a sub-agent's file.
    agent: Option<String>,
    transcript: String,
    started: bool,
    compacted: bool,
    pending: PendingMessage,
    /// Sub-agents running in the background.
    launched: VecDeque<SubAgent>,
    /// Latest line and session of each inline sub-agent.
    chains: VecDeque<(String, SessionKey)>,
    /// The current line without its tool details.
    buffer: String,
}

impl ClaudeCodeParser {
    fn new(path: &Path) -> Self {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut reader = Self {
            main: SessionKey::new(ID, &stem),
            parent: None,
            unnamed: !is_uuid(&stem),
            agent: None,
            transcript: path.to_string_lossy().into_owned(),
            started: false,
            compacted: false,
            pending: PendingMessage::default(),
            launched: VecDeque::new(),
            chains: VecDeque::new(),
            buffer: String::new(),
        };
        if let Some(agent) = stem.strip_prefix("agent-") {
            reader.agent = Some(agent.to_owned());
            let dir = path.parent().filter(|dir| dir.ends_with("subagents")).and_then(Path::parent);
            if let Some(session) = dir.and_then(Path::file_name) {
                reader.belongs_to(&session.to_string_lossy());
            }
        }
        reader
    }

    /// Marks the file as belonging to a sub-agent of `session`.
    fn belongs_to(&mut self, session: &str) {
        let agent = self.agent.as_deref().unwrap_or_default();
        self.main = sub_agent_key(session, agent);
        self.parent = Some(SessionKey::new(ID, session));
        self.unnamed = false;
    }

    /// Sets the session of a line and starts it on the first line.
    fn place(&mut self, record: &Record<'_>, builder: &mut TranscriptEventBuilder<'_>) {
        if self.unnamed
            && let Some(session) = record.session_id.non_empty()
        {
            if self.agent.is_some() {
                self.belongs_to(session);
            } else {
                self.main = SessionKey::new(ID, session);
                self.unnamed = false;
            }
        }
        if let Some(uuid) = record.uuid.non_empty() {
            builder.start_record(format_args!("{uuid}"));
        }
        builder.at = record.timestamp.or(builder.at);
        if let Some(cwd) = record.cwd.non_empty()
            && builder.cwd.as_deref() != Some(cwd)
        {
            builder.cwd = Some(cwd.to_owned());
        }
        let (session, parent) = match self.chain(record) {
            Some(chain) => (chain, Some(self.main.clone())),
            None => (self.main.clone(), self.parent.clone()),
        };
        builder.session = session;
        builder.parent = parent;
        if !self.started {
            self.started = true;
            builder.push(Body::SessionStarted(SessionStarted {
                how: if record.forked_from.is_some() { StartKind::Forked } else { StartKind::New },
                agent_version: record.version.owned(),
                project: record.cwd.owned(),
                branch: record.git_branch.owned(),
                transcript: Some(self.transcript.clone()),
                ..SessionStarted::default()
            }));
        }
    }

    /// The session of an inline sub-agent, followed from line to line by `parentUuid`.
    fn chain(&mut self, record: &Record<'_>) -> Option<SessionKey> {
        if !record.is_sidechain.0 || self.agent.is_some() {
            return None;
        }
        let known = self.chains.iter().position(|(latest, _)| *latest == *record.parent_uuid);
        let session = match (known, record.agent_id.non_empty()) {
            (_, Some(agent)) => sub_agent_key(&self.main.id, agent),
            (Some(at), None) => self.chains.remove(at).map(|(_, session)| session)?,
            (None, None) => sub_agent_key(&self.main.id, &record.uuid),
        };
        if self.chains.len() == MAX_SUB_AGENTS {
            self.chains.pop_front();
        }
        self.chains.push_back((record.uuid.to_string(), session.clone()));
        Some(session)
    }

    fn user(&mut self, record: Record<'_>, details: Details<'_>, builder: &mut TranscriptEventBuilder<'_>) {
        let origin = record.origin.and_then(|raw| serde_json::from_str::<SubAgentOrigin<'_>>(raw.get()).ok());
        let flags = LineFlags {
            sub_agent: builder.parent.is_some(),
            meta: record.is_meta.0,
            compact_summary: record.is_compact_summary.0,
            origin: origin.as_ref().and_then(|origin| origin.kind.non_empty()),
        };
        match record.message.content {
            Content::None => {}
            Content::Text(text) => self.prompt(&text, flags, builder),
            Content::Blocks(blocks) => {
                for block in blocks {
                    match &*block.kind {
                        "tool_result" => {
                            self.pending.complete(CompletionReason::GoesOn, builder);
                            // Only a failed call can have been denied.
                            let denied = block.is_error.0
                                && (record.tool_denial_kind.non_empty().is_some() || details.mark_denied());
                            self.answer(block, details, denied, builder);
                        }
                        "text" => self.prompt(&block.text, flags, builder),
                        _ => {}
                    }
                }
            }
        }
    }

    fn prompt(&mut self, text: &str, flags: LineFlags<'_>, builder: &mut TranscriptEventBuilder<'_>) {
        self.pending.complete(CompletionReason::TurnOver, builder);
        match prompt_author::classify_user_text(text, flags) {
            UserText::By(by) => {
                builder.push(Body::Prompt(Prompt { by, text: Excerpt::new(text) }));
                if by == Author::System {
                    self.notified(text, builder);
                }
            }
            UserText::Interrupted => {
                builder.push(Body::Note(Note { text: Excerpt::new("The user interrupted the turn.") }))
            }
            // Newer versions write an explicit boundary just before.
            UserText::Summary if !self.compacted => builder.push(system_record::compacted(None)),
            UserText::Summary | UserText::Noise => {}
        }
        self.compacted = false;
    }

    fn answer(
        &mut self,
        block: Block<'_>,
        details: Details<'_>,
        denied: bool,
        builder: &mut TranscriptEventBuilder<'_>,
    ) {
        let call = self.pending.take_call(&block.tool_use_id);
        let kind = call.as_ref().map(|call| call.kind);
        let text = block.content.into_text();
        let ending = tool_result::ending(kind, &text, block.is_error.0, denied);
        let id = block.tool_use_id.owned();
        let ok = ending.status == belay_core::CallStatus::Ok;
        builder.push(Body::ToolReturned(match kind {
            Some(ToolKind::Read | ToolKind::Search) if ok => ToolReturned::from_read(id.clone(), &text),
            _ => ToolReturned::new(id.clone(), Some(ending.status), ending.exit_code, &text),
        }));
        match kind {
            Some(ToolKind::Edit | ToolKind::Write) if ok => {
                if let Some(change) = details.read::<EditDetails<'_>>().and_then(|edited| edit::change(id, &edited)) {
                    builder.push(Body::FileChanged(change));
                }
            }
            Some(ToolKind::SubAgent) => {
                if let Some(launched) = details.read() {
                    self.sub_agent(call, &launched, builder);
                }
            }
            _ => {}
        }
    }

    fn sub_agent(
        &mut self,
        call: Option<Call>,
        launched: &LaunchedSubAgent<'_>,
        builder: &mut TranscriptEventBuilder<'_>,
    ) {
        let Some(agent) = launched.agent_id.non_empty() else { return };
        let sub = SubAgent { child: sub_agent_key(&self.main.id, agent), role: call.and_then(|call| call.role) };
        builder.push(Body::SubAgentStarted(sub.clone()));
        if &*launched.status == "completed" {
            builder.push(Body::SubAgentEnded(sub));
            return;
        }
        if self.launched.len() == MAX_SUB_AGENTS {
            self.launched.pop_front();
        }
        self.launched.push_back(sub);
    }

    /// Emits the end of a background sub-agent, which arrives as a notification in the user role.
    fn notified(&mut self, text: &str, builder: &mut TranscriptEventBuilder<'_>) {
        let task = text.split_once("<task-id>").and_then(|(_, rest)| rest.split_once("</task-id>"));
        let Some((task, _)) = task else { return };
        let child = sub_agent_key(&self.main.id, task);
        if let Some(at) = self.launched.iter().position(|sub| sub.child == child)
            && let Some(sub) = self.launched.remove(at)
        {
            builder.push(Body::SubAgentEnded(sub));
        }
    }
}

impl LineParser for ClaudeCodeParser {
    fn line(&mut self, line: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        if system_record::is_ignored(line) {
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = match tool_details::splice_out(line, &mut buffer) {
            // A nested field of the same name cuts the line in the middle.
            Some((head, rest)) => match self.record(head, Details::Unread(rest), builder) {
                Err(LineError::Malformed) => self.record(line, Details::None, builder),
                result => result,
            },
            None => self.record(line, Details::None, builder),
        };
        buffer.shrink_to(SPLICE_BUFFER_BYTES);
        self.buffer = buffer;
        result
    }

    fn end(&mut self, builder: &mut TranscriptEventBuilder<'_>) {
        self.pending.complete(CompletionReason::TurnOver, builder);
    }
}

impl ClaudeCodeParser {
    fn record(
        &mut self,
        line: &str,
        details: Details<'_>,
        builder: &mut TranscriptEventBuilder<'_>,
    ) -> Result<(), LineError> {
        let record: Record<'_> = match serde_json::from_str(line) {
            Ok(record) => record,
            Err(_) if is_valid_json(line) => return Err(LineError::Unknown),
            Err(_) => return Err(LineError::Malformed),
        };
        let details = record.tool_use_result.map_or(details, Details::Read);
        match &*record.kind {
            "user" => {
                self.place(&record, builder);
                self.user(record, details, builder);
            }
            "assistant" => {
                self.place(&record, builder);
                if record.is_api_error_message.0 || &*record.message.model == "<synthetic>" {
                    self.pending.complete(CompletionReason::GoesOn, builder);
                    system_record::synthetic(record, builder);
                } else {
                    self.pending.push_line(record, builder);
                }
            }
            "system" => {
                self.place(&record, builder);
                if system_record::ends_turn(&record) {
                    self.pending.complete(CompletionReason::TurnOver, builder);
                }
                self.compacted |= system_record::push_events(&record, builder);
            }
            "attachment" => {
                let queued = record.attachment.and_then(|raw| serde_json::from_str::<QueuedPrompt<'_>>(raw.get()).ok());
                if let Some(queued) = queued.filter(|queued| &*queued.kind == "queued_command") {
                    self.place(&record, builder);
                    let typed = matches!(&*queued.command_mode, "" | "prompt" | "bash");
                    let flags = LineFlags { meta: !typed, sub_agent: builder.parent.is_some(), ..LineFlags::default() };
                    let text: Cow<'_, str> = queued.prompt.into_text();
                    self.prompt(&text, flags, builder);
                }
            }
            "" => return Err(LineError::Unknown),
            known if system_record::IGNORED_TYPES.contains(&known) => {}
            _ => return Err(LineError::Unknown),
        }
        Ok(())
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SubAgentOrigin<'a> {
    #[serde(borrow)]
    kind: LenientString<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct QueuedPrompt<'a> {
    #[serde(borrow, rename = "type")]
    kind: LenientString<'a>,
    #[serde(borrow)]
    prompt: Content<'a>,
    #[serde(borrow)]
    command_mode: LenientString<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct LaunchedSubAgent<'a> {
    #[serde(borrow)]
    agent_id: LenientString<'a>,
    #[serde(borrow)]
    status: LenientString<'a>,
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}
