//! Edit, test, edit, test: and the test says the same each time.

use super::{Pattern, Trigger};
use crate::action::ToolKind;
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::rules::PatternRule;
use crate::session::{Call, CallFlags};

pub(super) static PATTERN: Pattern = Pattern {
    name: "fruitless_fix",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.fruitless_fix,
    look,
    say,
};

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    let runs = call.kind == ToolKind::Shell || call.is(CallFlags::CHECK);
    let says_nothing = call.is(CallFlags::READ_ONLY) || call.is(CallFlags::NO_OUTPUT) || call.is(CallFlags::PASSED);
    if !runs || !is_loop_candidate(call) || says_nothing {
        return None;
    }
    let mut tally = BatchCounter::of(call);
    // An unchanged success proves nothing by itself: changes must have been made to no effect.
    let (mut changes, mut changed) = (0, false);
    for other in view.earlier(rule.window) {
        if other.has_same_action(call) {
            if !unchanged(other, call) {
                break;
            }
            tally.add(other);
            changes += u32::from(std::mem::take(&mut changed));
        } else {
            changed |= other.is(CallFlags::NEW_CHANGE);
        }
    }
    if tally.count < 2 || changes == 0 {
        return None;
    }
    let strength = if call.failed() { Strength::Weak } else { Strength::VeryWeak };
    Some(tally.claim(strength, NudgeTarget::Key(call.key), call.key, call.outcome()))
}

/// The same failure messages, wherever the lines may have moved to; without any, the very same text.
fn unchanged(a: &Call, b: &Call) -> bool {
    let (Some(mine), Some(theirs)) = (&a.answer, &b.answer) else { return false };
    mine.status == theirs.status
        && (mine.digest == theirs.digest || a.failed() && mine.failure.equals_if_known(theirs.failure))
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(view);
    Wording {
        sentence: format!(
            "This ended the same way {}, although things were changed in between: {what}",
            count_phrase(claim.count)
        ),
        unchanged: describe_outcome(view),
        progress: "fewer or other failures, or another error",
        tips: &[
            "Your edits do not reach the cause: check that the code you change is the code that runs.",
            "Go back to the last state that made sense and look at the failure afresh, with a print or a debugger.",
            "Write down two other explanations and test the cheaper one first.",
        ],
        own: None,
    }
}
