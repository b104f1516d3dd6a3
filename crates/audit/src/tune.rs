//! `belay audit --tune`: settings that a person's own history suggests.
//!
//! An alarm about something that ended by itself every time was not needed. For each of them, the pair of action and
//! outcome is proposed for `detect.allow.pairs`, with the reason and with what would be lost. If most nudges of a pattern
//! were not needed, a higher threshold is proposed, too.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use belay_core::Rules;
use belay_core::printable::single_line;

use crate::loop_tracker::{Confidence, Loop};
use crate::session_report::{SessionReport, VariantResult};

/// Alarms with the same pattern, action and outcome.
#[derive(Debug, Default)]
struct AlarmGroup {
    pattern: String,
    /// The sentence of the first one.
    sentence: String,
    alarms: u64,
    sessions: u64,
    /// Calls after the first step of the loops.
    calls_after: u64,
    /// The highest confidence of the loops.
    confidence: Option<Confidence>,
}

/// The loops of one pattern, each at the occurrence of its first step.
#[derive(Debug, Default)]
struct PatternLoops {
    /// Occurrences at the first step of loops that ended by themselves.
    unneeded: Vec<u32>,
    /// Sessions with such loops.
    sessions: u64,
    /// The last occurrence of each loop that continued.
    continued: Vec<u32>,
}

/// A higher threshold is proposed if a pattern has so many loops that ended by themselves, in so many sessions.
const MIN_UNNEEDED: usize = 3;
const MIN_SESSIONS: u64 = 2;

impl PatternLoops {
    /// The threshold from which on no nudge would have been unneeded, and how many loops it would miss. `None` if there
    /// are too few examples, or if it would miss as many loops as it spares nudges.
    fn threshold(&self) -> Option<(u32, usize)> {
        let at = self.unneeded.iter().max()? + 1;
        let missed = self.continued.iter().filter(|last| **last < at).count();
        let enough = self.unneeded.len() >= MIN_UNNEEDED && self.sessions >= MIN_SESSIONS;
        (enough && missed * 2 < self.unneeded.len()).then_some((at, missed))
    }
}

/// Collects the alarms of sessions.
#[derive(Debug, Default)]
pub struct Tuning {
    groups: BTreeMap<String, AlarmGroup>,
    patterns: BTreeMap<String, PatternLoops>,
    alarms: u64,
}

impl Tuning {
    /// Adds a session, judged by the first set of rules.
    pub fn add(&mut self, report: &SessionReport) {
        let Some(judged) = report.judged.first() else { return };
        self.add_loops(judged);
        let mut counted: Vec<String> = Vec::new();
        for alarm in &judged.alarms {
            let finding = &alarm.finding;
            let pair = format!("{}:{}", finding.action, finding.outcome);
            self.alarms += 1;
            let group = self.groups.entry(pair.clone()).or_default();
            if group.alarms == 0 {
                group.pattern.clone_from(&finding.pattern);
                group.sentence.clone_from(&finding.sentence);
            }
            group.alarms += 1;
            let is_inside = |one: &&Loop| (one.from_call..=one.to_call).contains(&finding.call);
            let within = judged.loops.iter().find(is_inside);
            group.confidence = group.confidence.max(within.map(Loop::confidence));
            if !counted.contains(&pair) {
                group.sessions += 1;
                group.calls_after += within.map_or(0, |one| one.after_nudge.calls);
                counted.push(pair);
            }
        }
    }

    fn add_loops(&mut self, judged: &VariantResult) {
        let mut counted: Vec<&str> = Vec::new();
        for one in &judged.loops {
            let is_inside = |call: u64| (one.from_call..=one.to_call).contains(&call);
            let Some(first) = judged.alarms.iter().map(|alarm| &alarm.finding).find(|finding| is_inside(finding.call))
            else {
                continue;
            };
            let loops = self.patterns.entry(first.pattern.clone()).or_default();
            if one.confidence() == Confidence::Low {
                loops.unneeded.push(first.count);
                if !counted.contains(&first.pattern.as_str()) {
                    loops.sessions += 1;
                    counted.push(&first.pattern);
                }
            } else {
                let more = u32::try_from(one.repeated_after).unwrap_or(u32::MAX);
                loops.continued.push(first.count.saturating_add(more));
            }
        }
    }

    /// Proposed thresholds, given those in force.
    fn thresholds(&self, rules: &Rules) -> String {
        let mut text = String::new();
        for (name, loops) in &self.patterns {
            let Some((at, missed)) = loops.threshold() else { continue };
            let Some((_, rule)) = rules.patterns.iter().find(|(pattern, _)| pattern == name) else { continue };
            let ladder = rules.ladder.for_pattern(rule);
            let steps = [
                ("nudge_at", ladder.nudge_at),
                ("nudge_weak_at", ladder.nudge_weak_at),
                ("nudge_faint_at", ladder.nudge_faint_at),
            ];
            // 0 is never.
            let earlier: Vec<_> = steps.iter().filter(|(_, now)| (1..at).contains(now)).collect();
            if earlier.is_empty() {
                continue;
            }
            let _ = writeln!(text, "\n [detect.patterns.{name}]");
            for (field, now) in earlier {
                let _ = writeln!(
                    text,
                    "-{field} = {now}\n+{field} = {at} # {} of {} loops in {} sessions ended by themselves before; {}",
                    loops.unneeded.len(),
                    loops.unneeded.len() + loops.continued.len(),
                    loops.sessions,
                    match missed {
                        0 => "none of the others would be missed".to_owned(),
                        missed => format!("{missed} of the others would be missed"),
                    }
                );
            }
        }
        text
    }

    /// The proposed change of the configuration as a diff, with a reason per line. `rules` are those in force.
    pub fn text(&self, rules: &Rules) -> String {
        let unneeded = |group: &&AlarmGroup| group.confidence.is_none_or(|confidence| confidence == Confidence::Low);
        let chosen: Vec<(&String, &AlarmGroup)> = self.groups.iter().filter(|(_, group)| unneeded(group)).collect();
        let thresholds = self.thresholds(rules);
        if chosen.is_empty() {
            if !thresholds.is_empty() {
                return format!(
                    "Some loops end by themselves after their first nudge. It can come later.\n{thresholds}"
                );
            }
            return match self.alarms {
                0 => "No alarms in these sessions; nothing to change.\n".to_owned(),
                alarms => {
                    format!("{alarms} alarms, each about something that continued after it; nothing to change.\n")
                }
            };
        }
        let vanished: u64 = chosen.iter().map(|(_, group)| group.alarms).sum();
        let lost: u64 = chosen.iter().map(|(_, group)| group.calls_after).sum();
        let mut text = format!(
            "{vanished} of {} alarms would vanish. They were about something that ended by itself; {lost} calls that a \
             nudge might have saved would be lost.\n\n [detect.allow]\n+pairs = [\n",
            self.alarms
        );
        for (pair, group) in chosen {
            let _ = writeln!(
                text,
                "+  \"{pair}\", # {} in {} sessions, not seen again after it: {}",
                group.pattern,
                group.sessions,
                single_line(&group.sentence)
            );
        }
        text.push_str("+]\n");
        text + &thresholds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops(unneeded: &[u32], sessions: u64, continued: &[u32]) -> PatternLoops {
        PatternLoops { unneeded: unneeded.to_vec(), sessions, continued: continued.to_vec() }
    }

    #[test]
    fn a_threshold_is_proposed_with_what_it_would_miss() {
        assert_eq!(loops(&[3, 3, 4], 2, &[9, 12]).threshold(), Some((5, 0)));
        assert_eq!(loops(&[3, 3, 3], 3, &[3, 9]).threshold(), Some((4, 1)));
        assert_eq!(loops(&[3, 3], 2, &[9]).threshold(), None, "two examples are too few");
        assert_eq!(loops(&[3, 3, 3], 1, &[9]).threshold(), None, "one session may be special");
        assert_eq!(loops(&[3, 3, 3], 2, &[3, 3]).threshold(), None, "it would miss too many");
    }

    #[test]
    fn the_proposal_is_a_diff_of_the_thresholds_in_force() {
        let tuning = Tuning {
            patterns: BTreeMap::from([("exact_repeat".to_owned(), loops(&[3, 3, 3], 2, &[9]))]),
            ..Tuning::default()
        };
        assert_eq!(
            tuning.thresholds(&Rules::default()),
            "\n [detect.patterns.exact_repeat]\n-nudge_at = 3\n+nudge_at = 4 # 3 of 4 loops in 2 sessions ended by \
             themselves before; none of the others would be missed\n"
        );
        let text = tuning.text(&Rules::default());
        assert!(text.ends_with(&tuning.thresholds(&Rules::default())), "also without pairs to allow: {text}");
        assert!(!text.contains("[detect.allow]"), "{text}");
        let mut rules = Rules::default();
        rules.patterns.exact_repeat.nudge_at = Some(5);
        assert_eq!(tuning.thresholds(&rules), "", "it is already later");
    }
}
