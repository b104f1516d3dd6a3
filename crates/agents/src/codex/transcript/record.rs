//! The fields of a rollout line that are read.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient_json::{LenientOption, LenientString, LenientTime, LenientU64, usage_with_cached_input};

/// One line. Versions before 0.3x wrote the payload without the envelope.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Line<'a> {
    pub(super) timestamp: LenientTime,
    #[serde(rename = "type")]
    pub(super) kind: LenientString<'a>,
    pub(super) payload: Option<&'a RawValue>,
}

/// `session_meta`.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Meta<'a> {
    pub(super) id: LenientString<'a>,
    pub(super) cwd: LenientString<'a>,
    pub(super) cli_version: LenientString<'a>,
    pub(super) thread_source: LenientString<'a>,
    pub(super) parent_thread_id: LenientString<'a>,
    pub(super) forked_from_id: LenientString<'a>,
    pub(super) source: Option<&'a RawValue>,
    pub(super) git: LenientOption<Git<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Git<'a> {
    pub(super) branch: LenientString<'a>,
}

/// `turn_context`.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Turn<'a> {
    pub(super) cwd: LenientString<'a>,
    pub(super) model: LenientString<'a>,
}

/// `response_item`; which fields are set depends on its type.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Item<'a> {
    #[serde(rename = "type")]
    pub(super) kind: LenientString<'a>,
    pub(super) id: LenientString<'a>,
    pub(super) role: LenientString<'a>,
    pub(super) content: Option<&'a RawValue>,
    pub(super) name: LenientString<'a>,
    pub(super) arguments: Option<&'a RawValue>,
    pub(super) input: LenientString<'a>,
    pub(super) call_id: LenientString<'a>,
    pub(super) output: Option<&'a RawValue>,
    pub(super) action: Option<&'a RawValue>,
}

/// `event_msg`; which fields are set depends on its type.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Message<'a> {
    #[serde(rename = "type")]
    pub(super) kind: LenientString<'a>,
    pub(super) message: LenientString<'a>,
    pub(super) reason: LenientString<'a>,
    pub(super) last_agent_message: LenientString<'a>,
    pub(super) call_id: LenientString<'a>,
    pub(super) exit_code: LenientOption<i32>,
    pub(super) success: LenientOption<bool>,
    pub(super) changes: Option<&'a RawValue>,
    pub(super) info: LenientOption<TokenInfo>,
    pub(super) item: Option<&'a RawValue>,
    pub(super) codex_error_info: Option<&'a RawValue>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenInfo {
    pub(super) total_token_usage: LenientOption<Tokens>,
    pub(super) last_token_usage: LenientOption<Tokens>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    pub(super) input_tokens: LenientU64,
    pub(super) cached_input_tokens: LenientU64,
    pub(super) cache_write_input_tokens: LenientU64,
    pub(super) output_tokens: LenientU64,
}

impl Tokens {
    /// What came since an earlier total; `None` if the count has started anew.
    pub(super) fn since(self, before: Self) -> Option<Self> {
        let step = |now: LenientU64, then: LenientU64| now.0.checked_sub(then.0).map(LenientU64);
        Some(Self {
            input_tokens: step(self.input_tokens, before.input_tokens)?,
            cached_input_tokens: step(self.cached_input_tokens, before.cached_input_tokens)?,
            cache_write_input_tokens: step(self.cache_write_input_tokens, before.cache_write_input_tokens)?,
            output_tokens: step(self.output_tokens, before.output_tokens)?,
        })
    }

    /// Input, which includes what came from the cache, and output.
    pub(super) fn sum(self) -> u64 {
        self.input_tokens.0.saturating_add(self.output_tokens.0)
    }
}

impl From<Tokens> for belay_core::event::Usage {
    fn from(tokens: Tokens) -> Self {
        usage_with_cached_input(
            tokens.input_tokens.0,
            tokens.output_tokens.0,
            tokens.cached_input_tokens.0,
            tokens.cache_write_input_tokens.0,
        )
    }
}

/// `token_usage_record`.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct UsageRecord<'a> {
    pub(super) response_id: LenientString<'a>,
    pub(super) usage: LenientOption<Tokens>,
}

/// `item` of an `item_completed` message.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Completed<'a> {
    #[serde(rename = "type")]
    pub(super) kind: LenientString<'a>,
    pub(super) id: LenientString<'a>,
    pub(super) exit_code: LenientOption<i32>,
    pub(super) status: LenientString<'a>,
    pub(super) content: Option<&'a RawValue>,
    pub(super) changes: Option<&'a RawValue>,
}

/// `action` of a built-in call.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Action {
    pub(super) command: LenientOption<Vec<String>>,
    pub(super) working_directory: LenientOption<String>,
}
