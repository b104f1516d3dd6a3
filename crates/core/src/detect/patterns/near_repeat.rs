//! The same call but for numbers and indentation, answered the same way.

use super::{Pattern, Trigger};
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "near_repeat",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.near_repeat,
    look,
    say,
};

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    // Edits that fail have a pattern of their own, and a change that was accepted is work, however alike the next one looks.
    let accepted = call.succeeded() && (call.is(CallFlags::MUTATES) || call.is(CallFlags::PASSED));
    if !is_loop_candidate(call) || !call.skeleton.is_some() || call.is_terse() || accepted || call.edits() {
        return None;
    }
    let mut tally = BatchCounter::of(call);
    let mut varied = false;
    for other in view.earlier(rule.window) {
        if other.skeleton.equals_if_known(call.skeleton)
            && other.place.matches_digest(call.place)
            && other.kind == call.kind
        {
            if !other.has_same_result(call) {
                break;
            }
            varied |= other.key != call.key;
            tally.add(other);
        } else if other.is(CallFlags::NEW_CHANGE) {
            break;
        }
    }
    let strength = if call.failed() { Strength::Strong } else { Strength::Weak };
    let matcher = NudgeTarget::Key(call.key);
    (tally.count > 1 && varied).then(|| tally.claim(strength, matcher, call.key, call.outcome()))
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(view);
    Wording {
        sentence: format!(
            "Nearly the same call (only numbers or indentation differ) was made {} with the same result: {what}",
            count_phrase(claim.count)
        ),
        unchanged: describe_outcome(view),
        progress: "a different result",
        tips: &[
            "The numbers you vary do not matter to this result; find out what does.",
            "Look at the place itself instead of guessing line numbers or offsets.",
        ],
        own: None,
    }
}
