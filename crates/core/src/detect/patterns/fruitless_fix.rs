//! Edit, test, edit, test: and the test says the same each time.

use super::{Pattern, Trigger};
use crate::action::ToolKind;
use crate::detect::view::{Tally, can_circle};
use crate::detect::words::{outcome_of, times, what_of};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::rules::PatternRule;
use crate::session::{Call, Traits};

pub(super) static PATTERN: Pattern = Pattern {
    name: "fruitless_fix",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.fruitless_fix,
    look,
    say,
};

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    let runs = call.kind == ToolKind::Shell || call.is(Traits::CHECK);
    let says_nothing = call.is(Traits::LOOKS) || call.is(Traits::BARE) || call.is(Traits::PASSED);
    if !runs || !can_circle(call) || says_nothing {
        return None;
    }
    let mut tally = Tally::of(call);
    // An unchanged success proves nothing by itself: changes must have been made to no effect.
    let (mut changes, mut changed) = (0, false);
    for other in view.earlier(rule.window) {
        if other.same_action(call) {
            if !unchanged(other, call) {
                break;
            }
            tally.add(other);
            changes += u32::from(std::mem::take(&mut changed));
        } else {
            changed |= other.is(Traits::NEW_CHANGE);
        }
    }
    if tally.count < 2 || changes == 0 {
        return None;
    }
    let strength = if call.failed() { Strength::Weak } else { Strength::Faint };
    Some(tally.claim(strength, Matcher::Key(call.key), call.key, call.outcome()))
}

/// The same failure messages, wherever the lines may have moved to; without any, the very same text.
fn unchanged(a: &Call, b: &Call) -> bool {
    let (Some(mine), Some(theirs)) = (&a.answer, &b.answer) else { return false };
    mine.status == theirs.status && (mine.digest == theirs.digest || a.failed() && mine.failure.same(theirs.failure))
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let what = what_of(view);
    Words {
        sentence: format!(
            "This ended the same way {}, although things were changed in between: {what}",
            times(claim.count)
        ),
        unchanged: outcome_of(view),
        progress: "fewer or other failures, or another error",
        tips: &[
            "Your edits do not reach the cause: check that the code you change is the code that runs.",
            "Go back to the last state that made sense and look at the failure afresh, with a print or a debugger.",
            "Write down two other explanations and test the cheaper one first.",
        ],
        own: None,
    }
}
