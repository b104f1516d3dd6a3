//! The parts of a rollout line we look at.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{Count, Maybe, Stamp, Text};

/// One line. Versions before 0.3x wrote the payload without the envelope.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Line<'a> {
    pub(super) timestamp: Stamp,
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) payload: Option<&'a RawValue>,
}

/// `session_meta`.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Meta<'a> {
    pub(super) id: Text<'a>,
    pub(super) cwd: Text<'a>,
    pub(super) cli_version: Text<'a>,
    pub(super) thread_source: Text<'a>,
    pub(super) parent_thread_id: Text<'a>,
    pub(super) forked_from_id: Text<'a>,
    pub(super) source: Option<&'a RawValue>,
    pub(super) git: Maybe<Git<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Git<'a> {
    pub(super) branch: Text<'a>,
}

/// `turn_context`.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Turn<'a> {
    pub(super) cwd: Text<'a>,
    pub(super) model: Text<'a>,
}

/// `response_item`; which fields are set depends on its type.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Item<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) id: Text<'a>,
    pub(super) role: Text<'a>,
    pub(super) content: Option<&'a RawValue>,
    pub(super) name: Text<'a>,
    pub(super) arguments: Option<&'a RawValue>,
    pub(super) input: Text<'a>,
    pub(super) call_id: Text<'a>,
    pub(super) output: Option<&'a RawValue>,
    pub(super) action: Option<&'a RawValue>,
}

/// `event_msg`; which fields are set depends on its type.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) message: Text<'a>,
    pub(super) reason: Text<'a>,
    pub(super) last_agent_message: Text<'a>,
    pub(super) call_id: Text<'a>,
    pub(super) exit_code: Maybe<i32>,
    pub(super) success: Maybe<bool>,
    pub(super) changes: Option<&'a RawValue>,
    pub(super) info: Maybe<TokenInfo>,
    pub(super) item: Option<&'a RawValue>,
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
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct UsageRecord<'a> {
    pub(super) response_id: Text<'a>,
    pub(super) usage: Maybe<Tokens>,
}

/// `item` of an `item_completed` message.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Completed<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) id: Text<'a>,
    pub(super) exit_code: Maybe<i32>,
    pub(super) status: Text<'a>,
    pub(super) content: Option<&'a RawValue>,
    pub(super) changes: Option<&'a RawValue>,
}

/// `action` of a built-in call.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Action {
    pub(super) command: Maybe<Vec<String>>,
    pub(super) working_directory: Maybe<String>,
}
