//! The lines of Copilot CLI's session events, as far as we look at them.

use belay_core::event::Usage;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json::{Count, Maybe, Stamp, Text};

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Line<'a> {
    #[serde(rename = "type")]
    pub(super) kind: Text<'a>,
    pub(super) id: Text<'a>,
    pub(super) timestamp: Stamp,
    pub(super) data: Option<&'a RawValue>,
}

/// All data fields we look at, whatever the event.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Data<'a> {
    pub(super) session_id: Text<'a>,
    pub(super) copilot_version: Text<'a>,
    pub(super) selected_model: Text<'a>,
    pub(super) context: Maybe<Context<'a>>,
    pub(super) content: Text<'a>,
    pub(super) source: Text<'a>,
    pub(super) message_id: Text<'a>,
    pub(super) api_call_id: Text<'a>,
    pub(super) model: Text<'a>,
    pub(super) tool_requests: Maybe<Vec<Request>>,
    pub(super) tool_call_id: Text<'a>,
    pub(super) parent_tool_call_id: Text<'a>,
    pub(super) tool_name: Text<'a>,
    pub(super) arguments: Value,
    pub(super) success: Maybe<bool>,
    pub(super) result: Maybe<Outcome<'a>>,
    pub(super) error: Maybe<Failure<'a>>,
    pub(super) shell_execution: Maybe<Shell>,
    pub(super) usage: Maybe<Tokens<'a>>,
    pub(super) message: Text<'a>,
    pub(super) status_code: Count,
    pub(super) agent_name: Text<'a>,
    pub(super) pre_compaction_tokens: Count,
    pub(super) shutdown_type: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Context<'a> {
    pub(super) cwd: Text<'a>,
    #[serde(rename = "gitRoot")]
    pub(super) git_root: Text<'a>,
    pub(super) branch: Text<'a>,
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
    pub(super) content: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Failure<'a> {
    pub(super) message: Text<'a>,
    pub(super) code: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Shell {
    pub(super) exit_code: Maybe<i32>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Tokens<'a> {
    pub(super) model: Text<'a>,
    pub(super) api_call_id: Text<'a>,
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_read_tokens: Count,
    pub(super) cache_write_tokens: Count,
}

impl Tokens<'_> {
    pub(super) fn usage(&self) -> Usage {
        let (read, write) = (self.cache_read_tokens.0, self.cache_write_tokens.0);
        Usage {
            input: self.input_tokens.0.saturating_sub(read).saturating_sub(write),
            output: self.output_tokens.0,
            cache_read: read,
            cache_write: write,
        }
    }
}
