//! `belay audit --tune`: settings that a person's own history suggests.
//!
//! An alarm about something that ended by itself every time was not needed. For each of them, the pair of action and
//! outcome is proposed for `detect.allow.pairs`, with the reason and with what would be lost.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use belay_core::printable::single_line;

use crate::loop_tracker::{Confidence, Loop};
use crate::session_report::SessionReport;

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

/// Collects the alarms of sessions.
#[derive(Debug, Default)]
pub struct Tuning {
    groups: BTreeMap<String, AlarmGroup>,
    alarms: u64,
}

impl Tuning {
    /// Adds a session, judged by the first set of rules.
    pub fn add(&mut self, report: &SessionReport) {
        let Some(judged) = report.judged.first() else { return };
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

    /// The proposed change of the configuration as a diff, with a reason per line.
    pub fn text(&self) -> String {
        let unneeded = |group: &&AlarmGroup| group.confidence.is_none_or(|confidence| confidence == Confidence::Low);
        let chosen: Vec<(&String, &AlarmGroup)> = self.groups.iter().filter(|(_, group)| unneeded(group)).collect();
        if chosen.is_empty() {
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
        text
    }
}
