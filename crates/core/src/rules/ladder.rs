//! The ladder: the number of occurrences at which each intervention happens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PatternRule;
use crate::detect::Strength;
use crate::effect::InterventionLevel;

/// Occurrences at which each intervention happens; 0 means never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// Notice.
    pub notice_at: u32,
    /// Nudge on strong evidence.
    pub nudge_at: u32,
    /// Nudge on weak evidence.
    pub nudge_weak_at: u32,
    /// Nudge on very weak evidence.
    pub nudge_faint_at: u32,
    /// Pause.
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

    /// Number of occurrences for a nudge.
    pub fn nudge(&self, strength: Strength) -> u32 {
        match strength {
            Strength::Strong => self.nudge_at,
            Strength::Weak => self.nudge_weak_at,
            Strength::VeryWeak => self.nudge_faint_at,
        }
    }

    /// Number of occurrences for a pause: as far beyond the nudge as for strong evidence. Evidence that never
    /// leads to a nudge never leads to a pause.
    fn pause(&self, strength: Strength) -> u32 {
        match (self.pause_at, self.nudge(strength)) {
            (0, _) => 0,
            (_, 0) if self.nudge_at != 0 => 0,
            (at, nudge) => at.saturating_add(nudge.saturating_sub(self.nudge_at)),
        }
    }

    /// The occurrences from which on a notice, a nudge and a pause are due; 0 means never. A higher level covers the
    /// lower ones.
    pub(super) fn first_occurrences(&self, strength: Strength) -> [u32; 3] {
        let earlier = |a: u32, b: u32| if a == 0 || (b != 0 && b < a) { b } else { a };
        let pause = self.pause(strength);
        let nudge = earlier(self.nudge(strength), pause);
        [earlier(self.notice_at, nudge), nudge, pause]
    }

    /// The intervention for a number of occurrences.
    pub fn level(&self, count: u32, strength: Strength) -> Option<InterventionLevel> {
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
