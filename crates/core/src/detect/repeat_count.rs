//! Counts occurrences of one call, for `exact_repeat` and `interleaved_repeat`.

use super::call_context::{BatchCounter, is_loop_candidate};
use super::{CallContext, Strength};
use crate::action::ToolKind;
use crate::session::{CALL_WINDOW, Call, CallFlags};

/// Occurrences of the current call with the same result and no new change in between.
#[derive(Debug)]
pub(crate) struct Repeats<'a> {
    /// The newest occurrence with a result.
    pub latest: &'a Call,
    pub counter: BatchCounter,
    /// Number of other calls in between.
    pub between: u32,
    /// First reads and passed checks since the previous occurrence.
    pub recent_new_reads: u32,
    /// First reads and passed checks since the first occurrence.
    pub new_reads: u32,
    /// Commands with unknown effects since the previous occurrence; they may have changed something.
    pub recent_new_commands: u32,
}

impl<'a> Repeats<'a> {
    pub(super) fn of(context: &CallContext<'a>) -> Option<Self> {
        let call = context.call()?;
        if !is_loop_candidate(call) || call.is(CallFlags::NEW_ACTION_OUTCOME) {
            return None;
        }
        // Without a result yet, assume the previous one.
        let no_result = context.pending && call.result.is_none();
        let latest =
            if no_result { context.earlier(CALL_WINDOW).find(|other| other.has_same_action(call))? } else { call };
        if no_result && (latest.result.is_none() || !is_loop_candidate(latest)) {
            return None;
        }
        let mut found = Self {
            latest,
            counter: BatchCounter::new(call),
            between: 0,
            recent_new_reads: 0,
            new_reads: 0,
            recent_new_commands: 0,
        };
        let (mut others, mut new_reads, mut new_commands) = (0, 0, 0);
        for other in context.earlier(CALL_WINDOW) {
            if other.has_same_action(call) {
                if !other.has_same_result(latest) {
                    break;
                }
                if found.counter.count == 1 {
                    found.recent_new_reads = new_reads;
                    found.recent_new_commands = new_commands;
                }
                found.counter.add(other);
                found.between += std::mem::take(&mut others);
                found.new_reads += std::mem::take(&mut new_reads);
            } else if other.is(CallFlags::NEW_CHANGE) {
                break;
            } else {
                others += 1;
                new_reads += u32::from(other.is(CallFlags::FIRST_READ) || other.is(CallFlags::PASSED));
                new_commands += u32::from(is_new_command(other));
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

/// A successful new command that does more than read.
fn is_new_command(call: &Call) -> bool {
    let reads = call.is(CallFlags::READ_ONLY) || call.is(CallFlags::POLL);
    call.kind == ToolKind::Shell && call.succeeded() && call.is(CallFlags::NEW_ACTION_OUTCOME) && !reads
}
