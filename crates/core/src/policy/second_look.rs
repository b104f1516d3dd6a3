//! The second look: no step follows from what was seen once.
//!
//! A repetition is first seen at its second occurrence, which is a notice at most. A nudge needs another look at what came
//! since: the pattern counts anew, stops at a changed action, outcome or file, and still finds one more of the same. Weaker
//! evidence needs one more look each. A pause needs a nudge and still more of the same. This holds in every pattern whose
//! evidence is a repetition, whatever the thresholds say.

use crate::detect::Strength;
use crate::effect::InterventionLevel;

/// Occurrences at which a repetition is first seen.
const FIRST_LOOK: u32 = 2;

/// The fewest occurrences that justify a nudge.
fn min_nudge_count(strength: Strength) -> u32 {
    FIRST_LOOK
        + match strength {
            Strength::Strong => 1,
            Strength::Weak => 2,
            Strength::VeryWeak => 3,
        }
}

/// The highest step that this many occurrences justify, on the way to `wanted`. `nudged`: this finding has led to a
/// nudge, or its evidence never does.
pub(super) fn justified(wanted: InterventionLevel, count: u32, strength: Strength, nudged: bool) -> InterventionLevel {
    if count < min_nudge_count(strength) {
        wanted.min(InterventionLevel::Notice)
    } else if nudged {
        wanted
    } else {
        wanted.min(InterventionLevel::Nudge)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::detect::patterns::PATTERNS;
    use crate::rules::{Ladder, Rules};

    const STRENGTHS: [Strength; 3] = [Strength::VeryWeak, Strength::Weak, Strength::Strong];

    /// The occurrences at which a growing repetition first leads to a nudge and to a pause.
    fn climb(ladder: &Ladder, strength: Strength) -> (Option<u32>, Option<u32>) {
        let nudges = ladder.nudge(strength) != 0;
        let (mut nudge, mut pause) = (None, None);
        for count in 1..60 {
            let Some(wanted) = ladder.level(count, strength) else { continue };
            match justified(wanted, count, strength, !nudges || nudge.is_some()) {
                InterventionLevel::Nudge => nudge = nudge.or(Some(count)),
                InterventionLevel::Pause => pause = pause.or(Some(count)),
                InterventionLevel::Notice | InterventionLevel::Kill => {}
            }
        }
        (nudge, pause)
    }

    proptest! {
        #[test]
        fn a_pause_needs_more_than_a_nudge_whatever_the_thresholds_say(
            pattern in 0..PATTERNS.len(), strength in 0..3_usize, steps in [0..12_u32, 0..12, 0..12, 0..12, 0..12]
        ) {
            let pattern = PATTERNS[pattern];
            let rules = Rules::default();
            let mut rule = (pattern.rule)(&rules.patterns).clone();
            let [notice, nudge, weak, faint, pause] = steps.map(Some);
            (rule.notice_at, rule.nudge_at, rule.nudge_weak_at, rule.nudge_faint_at, rule.pause_at) =
                (notice, nudge, weak, faint, pause);
            let ladder = rules.ladder.for_pattern(&rule);
            let (nudge, pause) = climb(&ladder, STRENGTHS[strength]);
            let fewest = min_nudge_count(STRENGTHS[strength]);
            prop_assert!(nudge.is_none_or(|count| count >= fewest));
            prop_assert!(pause.is_none_or(|count| count >= fewest && nudge.is_none_or(|nudge| count > nudge)));
            // A pattern that nudges never pauses before its first nudge.
            prop_assert!(pause.is_none() || ladder.nudge(STRENGTHS[strength]) == 0 || nudge.is_some());
        }
    }

    #[test]
    fn the_built_in_pause_comes_after_the_nudge_in_every_pattern() {
        let rules = Rules::default();
        for pattern in PATTERNS {
            let ladder = rules.ladder.for_pattern((pattern.rule)(&rules.patterns));
            for strength in STRENGTHS {
                if let Some(InterventionLevel::Pause) = ladder.level(ladder.nudge(strength).max(1), strength) {
                    panic!("{} pauses at its first nudge", pattern.name);
                }
            }
        }
    }
}
