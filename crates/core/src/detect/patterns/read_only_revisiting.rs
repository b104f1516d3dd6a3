//! Looking and looking: little of it is new, and nothing is changed.

use super::{Pattern, Trigger};
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::wording::{count_phrase, describe_call};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "read_only_wandering",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.read_only_wandering,
    look,
    say,
};

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if !call.is(CallFlags::READ_ONLY)
        || call.is(CallFlags::FIRST_READ)
        || !is_loop_candidate(call)
        || call.answer.is_none()
    {
        return None;
    }
    let mut tally = BatchCounter::of(call);
    let mut new = 0;
    for other in view.earlier(rule.window) {
        if other.is(CallFlags::MUTATES) || other.is(CallFlags::CHECK) {
            return None;
        }
        if other.is(CallFlags::FIRST_READ) {
            new += 1;
        } else if other.is(CallFlags::READ_ONLY) {
            tally.add(other);
        }
    }
    // Who still finds something new at every other look is reading, not wandering.
    let wandering = tally.count > new;
    wandering.then(|| tally.claim(Strength::Weak, NudgeTarget::Any, Digest::of("looking"), Digest(0)))
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(view);
    Wording {
        sentence: format!(
            "Things seen before were looked at {}, and nothing was changed or run; last: {what}",
            count_phrase(claim.count)
        ),
        unchanged: "what there is to see".to_owned(),
        progress: "a place not looked at before, a change, or a test",
        tips: &[
            "Write down in three lines what you found; that is what you would look for again.",
            "Make the smallest change you are fairly sure of, and run a check.",
            "If something is missing, ask for it by name.",
        ],
        own: None,
    }
}
