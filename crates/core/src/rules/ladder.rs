//! The ladder: at which occurrence which step is taken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PatternRule;
use crate::detect::Strength;
use crate::effect::InterventionLevel;

/// At which occurrence which step is taken. 0 means never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// Recorded.
    pub notice_at: u32,
    /// The agent is told, where the evidence is strong.
    pub nudge_at: u32,
    /// The agent is told, where the evidence is weak.
    pub nudge_weak_at: u32,
    /// The agent is told, where the evidence is faint.
    pub nudge_faint_at: u32,
    /// The agent is held back.
    pub pause_at: u32,
}

impl Ladder {
    /// The ladder of one pattern.
    pub fn for_pattern(&self, rule: &PatternRule) -> Self {
        let weak = rule.nudge_weak_at.or(rule.nudge_at);
        Self {
            notice_at: rule.notice_at.unwrap_or(self.notice_at),
            nudge_at: rule.nudge_at.unwrap_or(self.nudge_at),
            nudge_weak_at: weak.unwrap_or(self.nudge_weak_at),
            nudge_faint_at: rule.nudge_faint_at.or(weak).unwrap_or(self.nudge_faint_at),
            pause_at: rule.pause_at.unwrap_or(self.pause_at),
        }
    }

    /// The occurrence a nudge is due at.
    pub fn nudge(&self, strength: Strength) -> u32 {
        match strength {
            Strength::Strong => self.nudge_at,
            Strength::Weak => self.nudge_weak_at,
            Strength::VeryWeak => self.nudge_faint_at,
        }
    }

    /// The occurrence a pause is due at: as far beyond the nudge as for strong evidence. Evidence too
    /// poor to speak of is too poor to act on.
    fn pause(&self, strength: Strength) -> u32 {
        match (self.pause_at, self.nudge(strength)) {
            (0, _) => 0,
            (_, 0) if self.nudge_at != 0 => 0,
            (at, nudge) => at + nudge.saturating_sub(self.nudge_at),
        }
    }

    /// The step so many occurrences are worth.
    pub fn rung(&self, count: u32, strength: Strength) -> Option<InterventionLevel> {
        let due = |at: u32| at != 0 && count >= at;
        if due(self.pause(strength)) {
            Some(InterventionLevel::Pause)
        } else if due(self.nudge(strength)) {
            Some(InterventionLevel::Nudge)
        } else {
            due(self.notice_at).then_some(InterventionLevel::Notice)
        }
    }
}
