//! Running work, typical durations, and the notifications already sent.

use serde::{Deserialize, Serialize};

use crate::action::ToolKind;
use crate::time::Timestamp;

/// What the agent is doing at the moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// The agent has work and has not ended its turn.
    pub working: bool,
    /// Time of the last activity.
    pub last_activity: Timestamp,
    /// Time since which a permission prompt is open.
    pub permission_since: Option<Timestamp>,
    /// Running sub-agents.
    pub running_sub_agents: u32,
    /// Sub-agents started since the last prompt by a person.
    pub sub_agents_started: u32,
    /// Moving average of the duration per tool kind, in milliseconds.
    typical: Vec<(ToolKind, u64)>,
    /// Notifications sent since the last activity.
    notified: Vec<StallNotice>,
    /// Consecutive failures of model calls or tools for external reasons.
    pub outages: u32,
}

/// A notification that is sent at most once per period of inactivity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StallNotice {
    Stall,
    HungTool,
    Permission,
}

impl Activity {
    /// Records activity and re-arms the notifications.
    pub(super) fn on_activity(&mut self, at: Timestamp) {
        self.last_activity = self.last_activity.max(at);
        self.notified.clear();
    }

    /// Updates the typical duration of a tool kind.
    pub(super) fn record_duration(&mut self, kind: ToolKind, millis: u64) {
        match self.typical.iter_mut().find(|(of, _)| *of == kind) {
            Some((_, typical)) => *typical = (*typical * 7 + millis) / 8,
            None => self.typical.push((kind, millis)),
        }
    }

    /// The typical duration of a tool kind, in milliseconds.
    pub fn typical_duration_ms(&self, kind: ToolKind) -> u64 {
        self.typical.iter().find(|(of, _)| *of == kind).map_or(0, |(_, typical)| *typical)
    }

    /// Returns `true` the first time it is called for a notice since the last activity.
    pub(super) fn should_notify_once(&mut self, what: StallNotice) -> bool {
        let first = !self.notified.contains(&what);
        if first {
            self.notified.push(what);
        }
        first
    }
}
