//! The same change, made successfully again and again: each time it does more harm.

use super::{Pattern, Trigger};
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "repeated_mutation",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.repeated_mutation,
    look,
    say,
};

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if !call.edits() || !call.succeeded() || call.is_neutral() {
        return None;
    }
    let mut tally = BatchCounter::of(call);
    for other in view.earlier(rule.window) {
        if other.succeeded() && other.has_same_action(call) {
            tally.add(other);
        } else if other.edits() && other.is(CallFlags::NEW_CHANGE) {
            break;
        }
    }
    (tally.count > 1).then(|| tally.claim(Strength::Strong, NudgeTarget::Key(call.key), call.key, call.outcome()))
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(view);
    Wording {
        sentence: format!("The very same change was made {}: {what}", count_phrase(claim.count)),
        unchanged: describe_outcome(view),
        progress: "a change that was not made before",
        tips: &[
            "It is already in the file, maybe more than once: read the file and take the copies out.",
            "If the effect you hope for does not come, the change is in the wrong place.",
        ],
        own: None,
    }
}
