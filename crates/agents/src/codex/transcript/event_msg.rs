//! Codex's own events about the conversation: usage, ends of turns, failures, changed files.

use belay_core::Excerpt;
use belay_core::event::{Body, LateFact, ModelFailed, Note, TurnEnded, UsageLimitHit};
use serde_json::value::RawValue;

use super::record::{Completed, Message, Tokens};
use super::{CodexParser, file_changes, user_prompt};
use crate::lenient_json::text_of;
use crate::transcript::{LineError, TranscriptEventBuilder};

impl CodexParser {
    pub(super) fn event(&mut self, raw: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let message: Message<'_> = serde_json::from_str(raw).map_err(|_| LineError::Unknown)?;
        match &*message.kind {
            "user_message" => {
                self.user_message(user_prompt::classify_user_text(&message.message), &message.message, builder)
            }
            "token_count" => {
                let info = message.info.0.unwrap_or_default();
                // A repeated total only updates rate limits.
                if let (Some(total), Some(last)) = (info.total_token_usage.0, info.last_token_usage.0)
                    && self.last_total != Some(total)
                {
                    // The total also knows of steps that were not recorded, such as a compaction.
                    let since = self.last_total.and_then(|before| total.since(before));
                    let step = since.filter(|step| step.sum() > last.sum()).unwrap_or(last);
                    self.last_total = Some(total);
                    // A tail that starts in the middle of a file does not show whether a record has reported this
                    // before.
                    if self.started && !self.has_usage_records {
                        self.usage(None, step, builder);
                    }
                }
            }
            "task_complete" | "turn_complete" => {
                self.flush_response(builder);
                if !self.turn_over {
                    self.turn_over = true;
                    let text = Excerpt::new(&message.last_agent_message);
                    self.push(Body::TurnEnded(TurnEnded { text, ..TurnEnded::default() }), builder);
                }
            }
            "turn_aborted" => {
                self.flush_response(builder);
                self.response.take_final_text();
                self.turn_over = true;
                let why = message.reason.non_empty().unwrap_or("interrupted");
                self.push(Body::Note(Note { text: Excerpt::new(&format!("The turn was aborted: {why}.")) }), builder);
            }
            "error" | "stream_error" => {
                self.flush_response(builder);
                let info = message.codex_error_info.map(RawValue::get).unwrap_or_default();
                let body = failure(&message.message, info);
                self.push(body, builder);
            }
            "context_compacted" => self.compacted(builder),
            "exec_command_end" => self.ended(&message.call_id, message.exit_code.0, builder),
            "patch_apply_end" if message.success.0 != Some(false) => {
                self.changed(&message.call_id, message.changes, builder);
            }
            "item_completed" => {
                let item = message.item.and_then(|raw| serde_json::from_str::<Completed<'_>>(raw.get()).ok());
                let Some(item) = item else { return Err(LineError::Unknown) };
                match &*item.kind {
                    "CommandExecution" => self.ended(&item.id, item.exit_code.0, builder),
                    "FileChange" if &*item.status != "failed" => self.changed(&item.id, item.changes, builder),
                    "UserMessage" => {
                        let text = item.content.map(|raw| text_of(raw.get())).unwrap_or_default();
                        self.user_message(user_prompt::classify_user_text(&text), &text, builder);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Emits the exit code of a background command.
    fn ended(&mut self, call: &str, exit_code: Option<i32>, builder: &mut TranscriptEventBuilder<'_>) {
        let Some(at) = self.running.iter().position(|running| running == call) else { return };
        if exit_code.is_some() {
            self.running.remove(at);
            self.flush_response(builder);
            self.push(
                Body::Learned(LateFact { call: Some(call.to_owned()), exit_code, ..LateFact::default() }),
                builder,
            );
        }
    }

    fn changed(&mut self, call: &str, changes: Option<&RawValue>, builder: &mut TranscriptEventBuilder<'_>) {
        let Some(changes) = changes else { return };
        // Changes follow the call that made them.
        self.flush_response(builder);
        for change in file_changes::changes(call, changes.get()) {
            self.push(Body::FileChanged(change), builder);
        }
    }

    pub(super) fn usage(&mut self, response: Option<&str>, tokens: Tokens, builder: &mut TranscriptEventBuilder<'_>) {
        let auxiliary = self.auxiliary;
        if self.response.is_pending() {
            self.response.flush(self.model.as_deref(), Some((response, tokens.into())), auxiliary, builder);
            return;
        }
        // The response was emitted before its usage was known.
        self.usages += 1;
        let response = response.map_or_else(|| format!("{}-usage-{}", builder.session.id, self.usages), str::to_owned);
        builder.push(Body::Learned(LateFact {
            response: Some(response),
            usage: Some(tokens.into()),
            model: self.model.clone(),
            ..LateFact::default()
        }));
    }
}

fn failure(message: &str, info: &str) -> Body {
    if info.contains("usage_limit") || message.contains("usage limit") {
        return Body::LimitHit(UsageLimitHit { what: Excerpt::with_limit(message, 512), resets_at: None });
    }
    let words = message.split(|c: char| !c.is_ascii_digit()).chain(info.split(|c: char| !c.is_ascii_digit()));
    let status = words.filter(|word| word.len() == 3).filter_map(|word| word.parse().ok());
    Body::ModelFailed(ModelFailed {
        status: status.into_iter().find(|code| (400..600).contains(code)),
        message: Excerpt::with_limit(message, 512),
        retry_at: None,
    })
}
