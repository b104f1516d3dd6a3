//! Counts occurrences of one call, for `exact_repeat` and `interleaved_repeat`.

use super::call_context::BatchCounter;
use super::{CallContext, Strength};
use crate::action::ToolKind;
use crate::session::{CALL_WINDOW, Call, CallFlags};

/// Occurrences of the current call with the same result and no new change in between.
#[derive(Debug)]
pub(crate) struct Repeats<'a> {
    /// The newest occurrence with a result.
    pub latest: &'a Call,
    pub counter: BatchCounter,
    /// Number of other calls in between. Calls made in parallel with each occurrence are not in between.
    pub between: u32,
    /// First reads and first passed checks since the previous occurrence.
    pub recent_new_reads: u32,
    /// First reads and first passed checks since the first occurrence.
    pub new_reads: u32,
    /// Commands with unknown effects since the previous occurrence; they may have changed something.
    pub recent_new_commands: u32,
    /// Calls since the previous occurrence that were not repeats themselves.
    pub recent_new_calls: u32,
}

impl<'a> Repeats<'a> {
    pub(super) fn of(context: &CallContext<'a>) -> Option<Self> {
        let call = context.call()?;
        if !context.is_loop_candidate(call) || call.is(CallFlags::NEW_ACTION_OUTCOME) {
            return None;
        }
        // Without a result yet, assume the previous one.
        let no_result = context.pending && call.result.is_none();
        let latest =
            if no_result { context.earlier(CALL_WINDOW).find(|other| other.has_same_action(call))? } else { call };
        if no_result && (latest.result.is_none() || !context.is_loop_candidate(latest)) {
            return None;
        }
        let mut found = Self {
            latest,
            counter: BatchCounter::new(call),
            between: 0,
            recent_new_reads: 0,
            new_reads: 0,
            recent_new_commands: 0,
            recent_new_calls: 0,
        };
        let mut gap = Gap::default();
        // The batch of the occurrence after the current gap: its other calls are part of the same round.
        let mut batch = call.batch;
        for other in context.earlier_with_allowed(CALL_WINDOW) {
            if other.is(CallFlags::ALLOWED) {
                // What is allowed is no evidence, but the calls around it are not consecutive.
                gap.add(other, None);
            } else if other.has_same_action(call) {
                if !other.has_same_result(latest) {
                    break;
                }
                gap.drop_batch(other.batch);
                if found.counter.count == 1 {
                    found.recent_new_reads = gap.new_reads;
                    found.recent_new_commands = gap.new_commands;
                    found.recent_new_calls = gap.new_calls;
                }
                found.counter.add(other);
                batch = other.batch;
                let closed = std::mem::take(&mut gap);
                found.between += closed.others;
                found.new_reads += closed.new_reads;
            } else if other.is(CallFlags::NEW_CHANGE) || latest.succeeded() && other.may_affect_others() {
                // A look may show something else after this; a failure may go away.
                break;
            } else {
                gap.add(other, Some(batch));
            }
        }
        (found.counter.count > 1).then_some(found)
    }

    /// How conclusive the repeats are, judging by the call alone.
    pub(super) fn strength(&self) -> Strength {
        let call = self.latest;
        if call.failed() {
            return Strength::Strong;
        }
        let consecutive = self.between == 0;
        match call.kind {
            // The same change twice in a row did not have the intended effect.
            _ if call.is(CallFlags::MUTATES) && consecutive => Strength::Strong,
            // Checks are repeated for certainty, often after changes that no sensor reported.
            _ if call.is(CallFlags::PASSED) => Strength::VeryWeak,
            // No or little output proves little.
            ToolKind::Shell | ToolKind::Read | ToolKind::Edit | ToolKind::Write | ToolKind::Search => {
                if call.is_terse() { Strength::Weak } else { Strength::Strong }
            }
            // An unknown tool may have an effect each time.
            _ if call.is_terse() => Strength::VeryWeak,
            _ => Strength::Weak,
        }
    }
}

/// The calls between two occurrences.
#[derive(Debug, Default)]
struct Gap {
    others: u32,
    new_reads: u32,
    new_commands: u32,
    new_calls: u32,
    /// Batches of the calls that repeat, newest first. They may turn out to belong to the occurrence before.
    repeating: Vec<u32>,
}

impl Gap {
    fn add(&mut self, other: &Call, round: Option<u32>) {
        let is_new = other.is(CallFlags::NEW_ACTION_OUTCOME);
        self.new_reads += u32::from(other.is(CallFlags::FIRST_READ) || other.is(CallFlags::PASSED) && is_new);
        self.new_commands += u32::from(is_new_command(other));
        self.new_calls += u32::from(is_new || other.is(CallFlags::ALLOWED));
        match round {
            // A set of parallel calls that repeats as a set is one round.
            Some(batch) if batch == other.batch && !is_new => {}
            Some(_) if !is_new => self.repeating.push(other.batch),
            _ => self.others += 1,
        }
    }

    /// The gap ends at an occurrence of this batch.
    fn drop_batch(&mut self, batch: u32) {
        self.others +=
            u32::try_from(self.repeating.iter().filter(|other| **other != batch).count()).unwrap_or(u32::MAX);
    }
}

/// A successful new command that does more than read.
fn is_new_command(call: &Call) -> bool {
    let reads = call.is(CallFlags::READ_ONLY) || call.is(CallFlags::POLL);
    call.kind == ToolKind::Shell && call.succeeded() && call.is(CallFlags::NEW_ACTION_OUTCOME) && !reads
}
