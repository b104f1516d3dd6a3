//! Combines steps of the policy into loops: where each started, when it would have been stopped, and its cost after that.

use belay_core::effect::Spend;
use belay_core::{Finding, Intervention, InterventionLevel, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

/// A step that the policy would have taken.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedIntervention {
    pub level: InterventionLevel,
    pub finding: Finding,
}

/// When a step would have been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterventionTime {
    /// Ordinal of the call.
    pub call: u64,
    /// The session's cost up to then.
    pub spent: Spend,
}

/// A part of a session without progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The pattern of the first step of the highest level.
    pub pattern: String,
    /// What was repeated, in one sentence.
    pub sentence: String,
    /// First call of the evidence.
    pub from_call: u64,
    /// Last call before the session made progress.
    pub to_call: u64,
    /// How many calls after the first step repeated what it was about.
    pub repeated_after: u64,
    /// First nudge.
    pub nudge: Option<InterventionTime>,
    /// First pause.
    pub pause: Option<InterventionTime>,
    /// Cost after the first nudge (or the first pause, if there was no nudge) until the end of the loop.
    pub after_nudge: Spend,
    /// Cost after the first pause until the end of the loop.
    pub after_pause: Spend,
    /// The highest level reached.
    pub level: InterventionLevel,
}

/// The session's progress clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpendPosition {
    /// Time of the last progress.
    pub(crate) at: Timestamp,
    /// Calls since then.
    pub(crate) calls: u64,
}

/// Tracks the loops of one session.
#[derive(Debug, Default)]
pub(crate) struct LoopTracker {
    pub(crate) loops: Vec<Loop>,
    open: bool,
    clock: Option<SpendPosition>,
    /// The latest call that repeated what the loop is about.
    repeated: u64,
}

impl LoopTracker {
    /// Adds a nudge or pause.
    pub(crate) fn step(&mut self, step: &Intervention, spent: &Spend) {
        let finding = &step.finding;
        let here = InterventionTime { call: finding.call, spent: *spent };
        // Evidence that overlaps the last loop continues it.
        let continues = self.loops.last().is_some_and(|last| self.open || finding.from_call <= last.to_call);
        if !continues {
            self.loops.push(Loop {
                pattern: finding.pattern.clone(),
                sentence: finding.sentence.clone(),
                from_call: finding.from_call,
                to_call: finding.call,
                repeated_after: 0,
                nudge: None,
                pause: None,
                after_nudge: Spend::default(),
                after_pause: Spend::default(),
                level: step.level,
            });
        }
        self.open = true;
        self.clock = None;
        self.repeated = self.repeated.max(finding.call);
        let Some(current) = self.loops.last_mut() else { return };
        current.from_call = current.from_call.min(finding.from_call);
        current.to_call = current.to_call.max(finding.call);
        if step.level >= InterventionLevel::Pause {
            current.pause.get_or_insert(here);
        } else {
            current.nudge.get_or_insert(here);
        }
        // The first sentence describes the loop best; a repetition of it has a higher count.
        if step.level > current.level || finding.pattern == current.pattern {
            current.level = current.level.max(step.level);
            current.pattern.clone_from(&finding.pattern);
            current.sentence.clone_from(&finding.sentence);
        }
    }

    /// After every event: `newest` is the latest call, `repetition` the latest that repeated what a step was about.
    pub(crate) fn after(&mut self, newest: u64, clock: SpendPosition, repetition: Option<u64>, spent: &Spend) {
        let repeated = repetition.filter(|call| *call > self.repeated);
        if let (Some(call), Some(last)) = (repeated, self.loops.last_mut()) {
            self.repeated = call;
            last.repeated_after += 1;
            // What looked like progress was not: the loop goes on.
            if !self.open && call > last.to_call {
                self.open = true;
                self.clock = None;
            }
        }
        if !self.open {
            return;
        }
        // The clock was reset: the session made progress.
        if self.clock.is_some_and(|before| before.at != clock.at || before.calls > clock.calls) {
            self.open = false;
            return;
        }
        self.clock = Some(clock);
        let Some(current) = self.loops.last_mut() else { return };
        current.to_call = current.to_call.max(newest);
        if let Some(step) = current.nudge.or(current.pause) {
            current.after_nudge = spent.saturating_sub(&step.spent);
        }
        if let Some(step) = current.pause {
            current.after_pause = spent.saturating_sub(&step.spent);
        }
    }
}

impl Loop {
    /// How sure it is that the agent would not have stopped by itself.
    pub fn confidence(&self) -> Confidence {
        match self.repeated_after {
            0 => Confidence::Low,
            1 | 2 => Confidence::Medium,
            _ => Confidence::High,
        }
    }
}

/// How sure a saving is: by how often the repetition continued after the step that would have stopped it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// It was not seen again: the agent may have noticed by itself.
    Low,
    /// Once or twice more.
    Medium,
    /// Three times or more.
    High,
}

impl Confidence {
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Totals over loops.
pub(crate) fn saved(loops: &[Loop]) -> (Spend, Spend) {
    let (mut nudge, mut pause) = (Spend::default(), Spend::default());
    for one in loops {
        nudge.add(&one.after_nudge);
        pause.add(&one.after_pause);
    }
    (nudge, pause)
}
