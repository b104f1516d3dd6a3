//! Walking back over the occurrences of one call: what `exact_repeat` and `interleaved_repeat` share.

use super::call_context::{BatchCounter, is_loop_candidate};
use super::{CallContext, Strength};
use crate::action::ToolKind;
use crate::session::{CALL_WINDOW, Call, CallFlags};

/// Occurrences of the call in focus that were answered alike, with nothing new changed in between.
#[derive(Debug)]
pub(crate) struct Repeats<'a> {
    /// The newest occurrence that was answered.
    pub answered: &'a Call,
    pub tally: BatchCounter,
    /// Other calls in between.
    pub between: u32,
    /// How often something new came to light, or a check passed, since the last occurrence before.
    pub sights_lately: u32,
    /// How often something new came to light since the first occurrence.
    pub sights: u32,
    /// Commands of unknown effect since the last occurrence before: they may have changed something.
    pub efforts_lately: u32,
}

impl<'a> Repeats<'a> {
    pub(super) fn of(view: &CallContext<'a>) -> Option<Self> {
        let call = view.call()?;
        if !is_loop_candidate(call) || call.is(CallFlags::NEW_ACTION_OUTCOME) {
            return None;
        }
        // Asked for again and not answered yet: it would be answered as last time.
        let waiting = view.asked && call.answer.is_none();
        let answered =
            if waiting { view.earlier(CALL_WINDOW).find(|other| other.has_same_action(call))? } else { call };
        if waiting && (answered.answer.is_none() || !is_loop_candidate(answered)) {
            return None;
        }
        let mut found = Self {
            answered,
            tally: BatchCounter::of(call),
            between: 0,
            sights_lately: 0,
            sights: 0,
            efforts_lately: 0,
        };
        let (mut others, mut sights, mut efforts) = (0, 0, 0);
        for other in view.earlier(CALL_WINDOW) {
            if other.has_same_action(call) {
                if !other.has_same_result(answered) {
                    break;
                }
                if found.tally.count == 1 {
                    found.sights_lately = sights;
                    found.efforts_lately = efforts;
                }
                found.tally.add(other);
                found.between += std::mem::take(&mut others);
                found.sights += std::mem::take(&mut sights);
            } else if other.is(CallFlags::NEW_CHANGE) {
                break;
            } else {
                others += 1;
                sights += u32::from(other.is(CallFlags::FIRST_READ) || other.is(CallFlags::PASSED));
                efforts += u32::from(is_effort(other));
            }
        }
        (found.tally.count > 1).then_some(found)
    }

    /// What the repeats prove, as far as the call itself goes.
    pub(super) fn strength(&self) -> Strength {
        let call = self.answered;
        if call.failed() {
            return Strength::Strong;
        }
        let consecutive = self.between == 0;
        match call.kind {
            // The same change once more, straight away: whatever it was meant to do, it did not.
            _ if call.is(CallFlags::MUTATES) && consecutive => Strength::Strong,
            // Checks are run again to be sure, often after changes nobody told us of.
            _ if call.is(CallFlags::PASSED) => Strength::VeryWeak,
            // Nobody answered, or with next to nothing: that proves little.
            ToolKind::Shell | ToolKind::Read | ToolKind::Edit | ToolKind::Write | ToolKind::Search => {
                if call.is_terse() { Strength::Weak } else { Strength::Strong }
            }
            // A tool we know nothing about may well do something each time.
            _ if call.is_terse() => Strength::VeryWeak,
            _ => Strength::Weak,
        }
    }
}

/// A command that worked, was not run before, and does more than look.
fn is_effort(call: &Call) -> bool {
    let looks = call.is(CallFlags::READ_ONLY) || call.is(CallFlags::POLL);
    call.kind == ToolKind::Shell && call.succeeded() && call.is(CallFlags::NEW_ACTION_OUTCOME) && !looks
}
