//! The parts of a rollout line we look at.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{Count, Maybe, Stamp, Text};

/// One line. Versions before 0.3x wrote the payload without the envelope.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Line<'a> {
    pub(super) timestamp: Stamp,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) payload: Option<&'a RawValue>,
}

/// `session_meta`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Meta<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) cwd: Text<'a>,
    #[serde(borrow)]
    pub(super) cli_version: Text<'a>,
    #[serde(borrow)]
    pub(super) thread_source: Text<'a>,
    #[serde(borrow)]
    pub(super) parent_thread_id: Text<'a>,
    #[serde(borrow)]
    pub(super) forked_from_id: Text<'a>,
    #[serde(borrow)]
    pub(super) source: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) git: Maybe<Git<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Git<'a> {
    #[serde(borrow)]
    pub(super) branch: Text<'a>,
}

/// `turn_context`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Turn<'a> {
    #[serde(borrow)]
    pub(super) cwd: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
}

/// `response_item`; which fields are set depends on its type.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) role: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) input: Text<'a>,
    #[serde(borrow)]
    pub(super) call_id: Text<'a>,
    #[serde(borrow)]
    pub(super) output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) action: Option<&'a RawValue>,
}

/// `event_msg`; which fields are set depends on its type.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) message: Text<'a>,
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
    #[serde(borrow)]
    pub(super) last_agent_message: Text<'a>,
    #[serde(borrow)]
    pub(super) call_id: Text<'a>,
    pub(super) exit_code: Maybe<i32>,
    pub(super) success: Maybe<bool>,
    #[serde(borrow)]
    pub(super) changes: Option<&'a RawValue>,
    pub(super) info: Maybe<TokenInfo>,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) codex_error_info: Option<&'a RawValue>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenInfo {
    pub(super) total_token_usage: Maybe<Tokens>,
    pub(super) last_token_usage: Maybe<Tokens>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    pub(super) input_tokens: Count,
    pub(super) cached_input_tokens: Count,
    pub(super) cache_write_input_tokens: Count,
    pub(super) output_tokens: Count,
}

impl From<Tokens> for belay_core::event::Usage {
    fn from(tokens: Tokens) -> Self {
        let (read, write) = (tokens.cached_input_tokens.0, tokens.cache_write_input_tokens.0);
        Self {
            // Codex counts cached tokens as input too.
            input: tokens.input_tokens.0.saturating_sub(read).saturating_sub(write),
            output: tokens.output_tokens.0,
            cache_read: read,
            cache_write: write,
        }
    }
}

/// `token_usage_record`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct UsageRecord<'a> {
    #[serde(borrow)]
    pub(super) response_id: Text<'a>,
    pub(super) usage: Maybe<Tokens>,
}

/// `item` of an `item_completed` message.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Completed<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    pub(super) exit_code: Maybe<i32>,
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) changes: Option<&'a RawValue>,
}

/// `action` of a built-in call.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Action {
    pub(super) command: Maybe<Vec<String>>,
    pub(super) working_directory: Maybe<String>,
}
