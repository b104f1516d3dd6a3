//! From single steps of the policy to loops: where each began, when it would have been stopped, and
//! what it went on to cost.

use belay_core::effect::Spend;
use belay_core::{Finding, Intervention, InterventionLevel, Timestamp};

use crate::ledger::{add, spend_between};

/// One step the policy would have taken.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedIntervention {
    /// Notice, nudge, pause.
    pub rung: InterventionLevel,
    /// Why.
    pub finding: Finding,
}

/// When a step would have been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterventionTime {
    /// Ordinal of the call.
    pub call: u64,
    /// What had been spent in the session by then.
    pub spent: Spend,
}

/// A stretch of a session that went in circles.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Pattern of the first step of the highest rung.
    pub pattern: String,
    /// One sentence: what repeated.
    pub sentence: String,
    /// First call of the evidence.
    pub from_call: u64,
    /// Last call before the session moved again.
    pub to_call: u64,
    /// First nudge.
    pub nudge: Option<InterventionTime>,
    /// First pause.
    pub pause: Option<InterventionTime>,
    /// Spent after the first nudge (or pause, where none came before) until the end of the loop.
    pub after_nudge: Spend,
    /// Spent after the first pause until the end of the loop.
    pub after_pause: Spend,
    /// The highest rung reached.
    pub rung: InterventionLevel,
}

/// Where the session's progress clock stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpendPosition {
    /// When the session last moved.
    pub(crate) at: Timestamp,
    /// Calls since then.
    pub(crate) calls: u64,
}

/// Follows one session.
#[derive(Debug, Default)]
pub(crate) struct LoopTracker {
    pub(crate) loops: Vec<Loop>,
    open: bool,
    clock: Option<SpendPosition>,
}

impl LoopTracker {
    /// A nudge or pause.
    pub(crate) fn step(&mut self, step: &Intervention, spent: &Spend) {
        let finding = &step.finding;
        let here = InterventionTime { call: finding.call, spent: *spent };
        // Evidence that reaches back into the last loop continues it.
        let continues = self.loops.last().is_some_and(|last| self.open || finding.from_call <= last.to_call);
        if !continues {
            self.loops.push(Loop {
                pattern: finding.pattern.clone(),
                sentence: finding.sentence.clone(),
                from_call: finding.from_call,
                to_call: finding.call,
                nudge: None,
                pause: None,
                after_nudge: Spend::default(),
                after_pause: Spend::default(),
                rung: step.rung,
            });
        }
        self.open = true;
        self.clock = None;
        let Some(current) = self.loops.last_mut() else { return };
        current.from_call = current.from_call.min(finding.from_call);
        current.to_call = current.to_call.max(finding.call);
        if step.rung >= InterventionLevel::Pause {
            current.pause.get_or_insert(here);
        } else {
            current.nudge.get_or_insert(here);
        }
        // The first word on the matter is the clearest; the same word again knows a later count.
        if step.rung > current.rung || finding.pattern == current.pattern {
            current.rung = current.rung.max(step.rung);
            current.pattern.clone_from(&finding.pattern);
            current.sentence.clone_from(&finding.sentence);
        }
    }

    /// After every event: `newest` is the latest call.
    pub(crate) fn after(&mut self, newest: u64, clock: SpendPosition, spent: &Spend) {
        if !self.open {
            return;
        }
        // The clock was set back: the session moved.
        if self.clock.is_some_and(|before| before.at != clock.at || before.calls > clock.calls) {
            self.open = false;
            return;
        }
        self.clock = Some(clock);
        let Some(current) = self.loops.last_mut() else { return };
        current.to_call = current.to_call.max(newest);
        if let Some(step) = current.nudge.or(current.pause) {
            current.after_nudge = spend_between(&step.spent, spent);
        }
        if let Some(step) = current.pause {
            current.after_pause = spend_between(&step.spent, spent);
        }
    }
}

/// Sums over loops.
pub(crate) fn saved(loops: &[Loop]) -> (Spend, Spend) {
    let (mut nudge, mut pause) = (Spend::default(), Spend::default());
    for one in loops {
        add(&mut nudge, &one.after_nudge);
        add(&mut pause, &one.after_pause);
    }
    (nudge, pause)
}
