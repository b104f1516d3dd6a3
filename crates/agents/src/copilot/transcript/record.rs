//! The fields of Copilot CLI's session events that are read.

use belay_core::event::Usage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::lenient_json::{LenientOption, LenientString, LenientTime, LenientU64, usage_with_cached_input};

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Line<'a> {
    #[serde(rename = "type")]
    pub(super) kind: LenientString<'a>,
    pub(super) id: LenientString<'a>,
    pub(super) timestamp: LenientTime,
    pub(super) data: Option<&'a RawValue>,
}

/// The data fields of all event types.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Data<'a> {
    pub(super) session_id: LenientString<'a>,
    pub(super) copilot_version: LenientString<'a>,
    pub(super) selected_model: LenientString<'a>,
    pub(super) context: LenientOption<Context<'a>>,
    pub(super) content: LenientString<'a>,
    pub(super) source: LenientString<'a>,
    pub(super) message_id: LenientString<'a>,
    pub(super) api_call_id: LenientString<'a>,
    pub(super) model: LenientString<'a>,
    pub(super) tool_requests: LenientOption<Vec<Request>>,
    pub(super) tool_call_id: LenientString<'a>,
    pub(super) parent_tool_call_id: LenientString<'a>,
    pub(super) tool_name: LenientString<'a>,
    pub(super) arguments: Value,
    pub(super) success: LenientOption<bool>,
    pub(super) result: LenientOption<Outcome<'a>>,
    pub(super) error: LenientOption<Failure<'a>>,
    pub(super) shell_execution: LenientOption<Shell>,
    pub(super) usage: LenientOption<Tokens<'a>>,
    pub(super) message: LenientString<'a>,
    pub(super) status_code: LenientU64,
    pub(super) agent_name: LenientString<'a>,
    pub(super) pre_compaction_tokens: LenientU64,
    pub(super) shutdown_type: LenientString<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Context<'a> {
    pub(super) cwd: LenientString<'a>,
    #[serde(rename = "gitRoot")]
    pub(super) git_root: LenientString<'a>,
    pub(super) branch: LenientString<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) tool_call_id: String,
    pub(super) name: String,
    pub(super) arguments: Value,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Outcome<'a> {
    pub(super) content: LenientString<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Failure<'a> {
    pub(super) message: LenientString<'a>,
    pub(super) code: LenientString<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Shell {
    pub(super) exit_code: LenientOption<i32>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Tokens<'a> {
    pub(super) model: LenientString<'a>,
    pub(super) api_call_id: LenientString<'a>,
    pub(super) input_tokens: LenientU64,
    pub(super) output_tokens: LenientU64,
    pub(super) cache_read_tokens: LenientU64,
    pub(super) cache_write_tokens: LenientU64,
}

impl Tokens<'_> {
    pub(super) fn usage(&self) -> Usage {
        usage_with_cached_input(
            self.input_tokens.0,
            self.output_tokens.0,
            self.cache_read_tokens.0,
            self.cache_write_tokens.0,
        )
    }
}
