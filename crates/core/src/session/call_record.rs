//! A call as pages show it. The engine stores one record per call, so that a page reads a window of calls instead of
//! replaying the log.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Session;
use super::call::{Call, CallFlags};
use crate::digest::Digest;
use crate::outcome::CallStatus;
use crate::time::Timestamp;

/// What came of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallMark {
    /// No result yet.
    #[default]
    Running,
    Ok,
    Failed,
    /// A file was written.
    Written,
    /// A file was written back to a content it had before.
    Reverted,
    /// Belay held the call back.
    HeldBack,
}

impl CallMark {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Written => "written",
            Self::Reverted => "reverted",
            Self::HeldBack => "held_back",
        }
    }

    /// The mark with this name; a running call for an unknown name.
    pub fn from_name(name: &str) -> Self {
        let known = [Self::Ok, Self::Failed, Self::Written, Self::Reverted, Self::HeldBack];
        known.into_iter().find(|mark| mark.as_str() == name).unwrap_or_default()
    }
}

/// One call of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallRecord {
    /// 0-based ordinal in the session.
    pub ordinal: u64,
    /// Sequence number of its event, which the engine assigns.
    pub seq: u64,
    pub at: Timestamp,
    /// Calls made in parallel share a batch.
    pub batch: u32,
    /// Fingerprint of the action.
    pub action: Digest,
    /// Digest of the outcome; zero while there is none.
    pub outcome: Digest,
    /// The pair of action and outcome is new in this session.
    pub first: bool,
    /// The call was progress.
    pub progress: bool,
    pub mark: CallMark,
    /// Short redacted description of the input.
    pub what: String,
    /// Short redacted text of the result.
    pub result: String,
    /// The file that it reads or writes, which the engine takes from the event; see
    /// [`ToolCalled::file`](crate::event::ToolCalled::file).
    pub file: Option<String>,
    pub reads: bool,
    pub check: bool,
    /// The session's figures at this call; known only while no later call was made.
    pub figures: Option<CallFigures>,
}

/// The session's figures from one call to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallFigures {
    /// Number of different pairs of action and outcome so far.
    pub distinct: u64,
    /// Spent since the call was made, in millionths of a US dollar.
    pub cost_micros: u64,
    /// Spent since the last progress, in millionths of a US dollar.
    pub since_progress_micros: u64,
    /// Tokens since the call was made that were not read from the cache.
    pub fresh_tokens: u64,
    pub cached_tokens: u64,
    /// How full the context window is.
    pub context_percent: Option<u32>,
}

/// The newest tool call of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewestCall {
    /// Short redacted description of the input.
    pub what: String,
    pub at: Timestamp,
    /// It has no result yet.
    pub running: bool,
}

impl Session {
    /// The ordinal of the newest tool call.
    pub fn newest_call(&self) -> Option<u64> {
        self.newest_tool_call().map(|call| call.ordinal)
    }

    fn newest_tool_call(&self) -> Option<&Call> {
        self.window.calls().iter().rev().find(|call| !call.is(CallFlags::EXTERNAL))
    }

    /// The newest tool call: what it does, since when, and whether it still runs.
    pub fn newest_call_summary(&self) -> Option<NewestCall> {
        let call = self.newest_tool_call()?;
        let running = call.result.is_none() && !call.is(CallFlags::HELD_BACK);
        Some(NewestCall { what: call.what.to_string(), at: call.at, running })
    }

    /// The ordinal of the call that received the latest result.
    pub fn last_answered_call(&self) -> Option<u64> {
        self.window.last_answered()
    }

    /// The record of a recent call.
    pub fn call_record(&self, ordinal: u64) -> Option<CallRecord> {
        let is_it = |call: &&Call| call.ordinal == ordinal && !call.is(CallFlags::EXTERNAL);
        let call = self.window.calls().iter().rev().find(is_it)?;
        let newest = self.newest_call() == Some(ordinal);
        Some(CallRecord {
            ordinal,
            seq: 0,
            at: call.at,
            batch: call.batch,
            action: call.key,
            outcome: call.outcome(),
            first: call.is(CallFlags::NEW_ACTION_OUTCOME),
            progress: call.is(CallFlags::PROGRESS),
            mark: self.mark_of(call),
            what: call.what.to_string(),
            result: call.result.as_ref().map(|result| result.summary.to_string()).unwrap_or_default(),
            file: None,
            reads: call.is(CallFlags::READ_ONLY),
            check: call.is(CallFlags::CHECK),
            figures: newest.then(|| self.call_figures(ordinal)),
        })
    }

    fn call_figures(&self, ordinal: u64) -> CallFigures {
        let (usage, cost_micros) = self.meter.since(ordinal, &self.spent);
        CallFigures {
            distinct: self.strip.distinct(),
            cost_micros,
            since_progress_micros: self.clock.since.max_cost_micros(),
            fresh_tokens: usage.total().saturating_sub(usage.cache_read),
            cached_tokens: usage.cache_read,
            context_percent: self.meter.context_fill_percent(),
        }
    }

    fn mark_of(&self, call: &Call) -> CallMark {
        if call.is(CallFlags::HELD_BACK) {
            return CallMark::HeldBack;
        }
        match call.status() {
            None => CallMark::Running,
            Some(CallStatus::Ok) if call.changes_file() && self.takes_back(call) => CallMark::Reverted,
            Some(CallStatus::Ok) if call.changes_file() => CallMark::Written,
            Some(CallStatus::Ok) => CallMark::Ok,
            Some(_) => CallMark::Failed,
        }
    }

    /// Whether an edit inserts what an earlier edit of the same file removed.
    fn takes_back(&self, call: &Call) -> bool {
        let earlier = self.window.calls().iter().take_while(|earlier| earlier.ordinal < call.ordinal);
        call.after.is_some()
            && call.target.is_some()
            && earlier
                .filter(|earlier| earlier.target == call.target)
                .any(|earlier| earlier.before == call.after && earlier.succeeded() && earlier.after != earlier.before)
    }
}
