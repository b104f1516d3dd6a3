//! Time: what runs, how long such things usually take, and what a person was already told of.

use serde::{Deserialize, Serialize};

use crate::action::ToolKind;
use crate::time::Timestamp;

/// What is going on right now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// The agent is at work: it was asked something and has not ended its turn.
    pub at_work: bool,
    /// Last sign of life.
    pub alive_at: Timestamp,
    /// A permission prompt is open since then.
    pub asking_since: Option<Timestamp>,
    /// Sub-agents started and not ended.
    pub children: u32,
    /// Sub-agents started since a person spoke.
    pub children_started: u32,
    /// Usual duration by kind of tool, in milliseconds: a moving average.
    usual: Vec<(ToolKind, u64)>,
    /// What a person was told since the last sign of life.
    told: Vec<StallNotice>,
    /// Model calls or tools in a row that failed for reasons outside.
    pub outages: u32,
}

/// What a person is told once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StallNotice {
    Stall,
    HungTool,
    Permission,
}

impl Activity {
    /// A sign of life.
    pub(super) fn on_activity(&mut self, at: Timestamp) {
        self.alive_at = self.alive_at.max(at);
        self.told.clear();
    }

    /// A tool took so long.
    pub(super) fn record_duration(&mut self, kind: ToolKind, millis: u64) {
        match self.usual.iter_mut().find(|(of, _)| *of == kind) {
            Some((_, usual)) => *usual = (*usual * 7 + millis) / 8,
            None => self.usual.push((kind, millis)),
        }
    }

    /// How long such a tool usually takes.
    pub fn typical_duration_ms(&self, kind: ToolKind) -> u64 {
        self.usual.iter().find(|(of, _)| *of == kind).map_or(0, |(_, usual)| *usual)
    }

    /// Whether this is still to be told; then it counts as told.
    pub(super) fn should_notify_once(&mut self, what: StallNotice) -> bool {
        let news = !self.told.contains(&what);
        if news {
            self.told.push(what);
        }
        news
    }
}
