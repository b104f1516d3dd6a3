//! Copilot CLI's session events: one line per event, each with its type and data.

mod record;

use std::path::Path;

use belay_core::event::{
    Author, Body, Compacted, ModelAnswered, ModelFailed, Note, Prompt, SessionEnded, SessionStarted, StartKind,
    SubAgent, ToolCalled, ToolReturned, TurnEnded, Usage,
};
use belay_core::{CallStatus, Excerpt, SessionKey};
use serde_json::value::RawValue;

use self::record::{Data, Line};
use super::{ID, kind_of};
use crate::recent_ids::RecentIds;
use crate::transcript::{
    LineError, LineParser, TranscriptEventBuilder, TranscriptFormat, file_stem, first_line, parse,
};

/// The transcript format.
#[derive(Debug)]
pub struct CopilotFormat;

impl TranscriptFormat for CopilotFormat {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, _path: &Path, head: &[u8]) -> bool {
        serde_json::from_str::<Line<'_>>(&first_line(head)).is_ok_and(|line| &*line.kind == "session.start")
    }

    fn line_parser(&self, path: &Path) -> Option<Box<dyn LineParser + Send>> {
        Some(Box::new(CopilotParser::new(path)))
    }

    fn session(&self, path: &Path) -> SessionKey {
        CopilotParser::new(path).main
    }
}

/// Usage whose response has not been read yet.
struct PendingUsage {
    call: String,
    model: Option<String>,
    usage: Usage,
}

struct CopilotParser {
    transcript: String,
    main: SessionKey,
    usage: Option<PendingUsage>,
    /// Ids of emitted calls.
    seen_calls: RecentIds,
    /// Text of a response without tool calls.
    final_text: Option<Excerpt>,
}

impl CopilotParser {
    fn new(path: &Path) -> Self {
        // `<session>/events.jsonl`, or `<session>.jsonl` in early versions.
        let dir = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let stem = file_stem(path);
        Self {
            transcript: path.to_string_lossy().into_owned(),
            main: SessionKey::new(ID, if stem == "events" { dir } else { stem }),
            usage: None,
            seen_calls: RecentIds::default(),
            final_text: None,
        }
    }

    fn begin(&mut self, how: StartKind, data: Data<'_>, builder: &mut TranscriptEventBuilder<'_>) {
        if let Some(id) = data.session_id.non_empty() {
            self.main = SessionKey::new(ID, id);
            builder.session = self.main.clone();
        }
        let context = data.context.0.unwrap_or_default();
        builder.cwd = context.cwd.owned().or(builder.cwd.take());
        builder.push(Body::SessionStarted(SessionStarted {
            how,
            model: data.selected_model.owned(),
            agent_version: data.copilot_version.owned(),
            project: context.git_root.owned().or(context.cwd.owned()),
            branch: context.branch.owned(),
            transcript: Some(self.transcript.clone()),
            ..SessionStarted::default()
        }));
    }

    fn prompt(&mut self, data: &Data<'_>, builder: &mut TranscriptEventBuilder<'_>) {
        self.end_turn(builder);
        let by = match &*data.source {
            _ if builder.parent.is_some() => Author::Agent,
            "" | "user" => Author::Person,
            _ => Author::System,
        };
        builder.push(Body::Prompt(Prompt { by, text: Excerpt::new(&data.content) }));
    }

    /// Emits usage without a matching response as auxiliary.
    fn flush_usage(&mut self, builder: &mut TranscriptEventBuilder<'_>) {
        if let Some(spent) = self.usage.take() {
            builder.push(Body::ModelAnswered(ModelAnswered {
                response: Some(spent.call),
                model: spent.model,
                usage: Some(spent.usage),
                auxiliary: true,
                ..ModelAnswered::default()
            }));
        }
    }

    fn end_turn(&mut self, builder: &mut TranscriptEventBuilder<'_>) {
        if let Some(text) = self.final_text.take() {
            builder.push(Body::TurnEnded(TurnEnded { text, ..TurnEnded::default() }));
        }
    }

    fn answer(&mut self, data: Data<'_>, builder: &mut TranscriptEventBuilder<'_>) {
        let requests = data.tool_requests.0.unwrap_or_default();
        let calls: Vec<ToolCalled> = requests
            .into_iter()
            .filter(|request| self.seen_calls.insert(&request.tool_call_id))
            .map(|call| ToolCalled::new(Some(call.tool_call_id), kind_of(&call.name), &call.name, &call.arguments))
            .collect();
        self.final_text = calls.is_empty().then(|| Excerpt::new(&data.content));
        let response = data.api_call_id.non_empty().or(data.message_id.non_empty()).map(str::to_owned);
        let claimed = self.usage.as_ref().is_some_and(|spent| Some(&spent.call) == response.as_ref());
        let spent = if claimed { self.usage.take() } else { None };
        builder.push_answer(
            response.clone(),
            ModelAnswered {
                response,
                model: data.model.owned().or(spent.as_ref().and_then(|spent| spent.model.clone())),
                usage: spent.map(|spent| spent.usage),
                text: Excerpt::new(&data.content),
                ..ModelAnswered::default()
            },
            calls,
        );
    }

    fn result(data: Data<'_>, builder: &mut TranscriptEventBuilder<'_>) {
        let output = data.result.0.unwrap_or_default().content;
        let failure = data.error.0.unwrap_or_default();
        let (text, said) = shell_report(&output);
        let text = if text.is_empty() { &*failure.message } else { text };
        let exit_code = data.shell_execution.0.and_then(|shell| shell.exit_code.0).or(said);
        let status = if data.success.0 == Some(false) {
            let refused = matches!(&*failure.code, "denied" | "rejected") || text.starts_with("Denied by ");
            if refused { CallStatus::Refused } else { CallStatus::Error }
        } else if output.contains("started in background with shellId") {
            CallStatus::Running
        } else if exit_code.unwrap_or(0) != 0 {
            CallStatus::Error
        } else {
            CallStatus::Ok
        };
        let call = data.tool_call_id.owned();
        builder.push(Body::ToolReturned(ToolReturned::new(call, Some(status), exit_code, text)));
    }
}

/// Splits off the report at the end of shell output, which has a new shell id on every call.
fn shell_report(text: &str) -> (&str, Option<i32>) {
    let trimmed = text.trim_end();
    let Some(at) = trimmed.rfind('<').filter(|_| trimmed.ends_with('>')) else { return (text, None) };
    let report = &trimmed[at..];
    let Some((_, code)) = report.rsplit_once("exit code ") else { return (text, None) };
    (trimmed[..at].trim_end(), code.trim_end_matches('>').parse().ok())
}

impl LineParser for CopilotParser {
    fn line(&mut self, text: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let line: Line<'_> = parse(text)?;
        builder.at = line.timestamp.or(builder.at);
        if let Some(id) = line.id.non_empty() {
            builder.start_record(format_args!("{id}"));
        }
        let passed = ["hook.", "system.", "session.permissions", "session.info", "assistant.turn_", "permission."];
        if passed.iter().any(|kind| line.kind.starts_with(kind)) {
            return Ok(());
        }
        let data = line.data.map_or("{}", RawValue::get);
        let data: Data<'_> = serde_json::from_str(data).map_err(|_| LineError::Unknown)?;
        (builder.session, builder.parent) = match data.parent_tool_call_id.non_empty() {
            Some(call) => (sub_agent(&self.main, call), Some(self.main.clone())),
            None => (self.main.clone(), None),
        };
        match &*line.kind {
            "session.start" => self.begin(StartKind::New, data, builder),
            "session.resume" => self.begin(StartKind::Resumed, data, builder),
            "user.message" => self.prompt(&data, builder),
            "assistant.message" => self.answer(data, builder),
            "session.usage_record" | "assistant.usage" => {
                self.flush_usage(builder);
                if let Some(tokens) = data.usage.0 {
                    let call = tokens.api_call_id.non_empty().unwrap_or(&line.id).to_owned();
                    self.usage = Some(PendingUsage { call, model: tokens.model.owned(), usage: tokens.usage() });
                }
            }
            "tool.execution_start" => {
                if self.seen_calls.insert(&data.tool_call_id) {
                    let call = data.tool_call_id.owned();
                    let called = ToolCalled::new(call, kind_of(&data.tool_name), &data.tool_name, &data.arguments);
                    builder.push(Body::ToolCalled(called));
                }
            }
            "tool.execution_complete" => Self::result(data, builder),
            "subagent.started" | "subagent.completed" | "subagent.failed" => {
                let child = sub_agent(&self.main, &data.tool_call_id);
                let sub = SubAgent { child, role: data.agent_name.owned() };
                let begins = &*line.kind == "subagent.started";
                builder.push(if begins { Body::SubAgentStarted(sub) } else { Body::SubAgentEnded(sub) });
            }
            "session.error" => {
                builder.push(Body::ModelFailed(ModelFailed {
                    status: data.status_code.status(),
                    message: Excerpt::with_limit(&data.message, 512),
                    retry_at: None,
                }));
            }
            "session.compaction_complete" => {
                let before = Some(data.pre_compaction_tokens.0).filter(|tokens| *tokens != 0);
                builder.push(Body::Compacted(Compacted { automatic: true, before }));
            }
            "abort" => builder.push(Body::Note(Note { text: Excerpt::new("The user interrupted the turn.") })),
            "session.shutdown" => {
                self.end_turn(builder);
                self.flush_usage(builder);
                let reason = data.shutdown_type.owned();
                builder.push(Body::SessionEnded(SessionEnded { reason, exit_code: None }));
            }
            "session.model_change" | "session.truncation" | "session.title_changed" | "session.idle" => {}
            _ => return Err(LineError::Unknown),
        }
        Ok(())
    }

    fn end(&mut self, builder: &mut TranscriptEventBuilder<'_>) {
        self.end_turn(builder);
        self.flush_usage(builder);
    }
}

fn sub_agent(session: &SessionKey, call: &str) -> SessionKey {
    SessionKey::new(ID, format!("{}/{call}", session.id))
}
