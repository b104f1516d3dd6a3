//! One error after the other, with nothing working in between.

use super::{Pattern, Trigger};
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::wording::describe_outcome;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::outcome::CallStatus;
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "error_cascade",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.error_cascade,
    look,
    say,
};

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    // What is refused waits for a person; what fails outside is an outage.
    if !call.failed()
        || call.status() == Some(CallStatus::Refused)
        || !is_loop_candidate(call)
        || call.is(CallFlags::NO_OUTPUT)
    {
        return None;
    }
    let mut tally = BatchCounter::of(call);
    let (mut alike, mut akin, mut families) = (1, 1, vec![call.family()]);
    for other in view.earlier(rule.window) {
        if !other.failed() {
            break;
        }
        if other.is(CallFlags::OUTAGE) || other.status() == Some(CallStatus::Refused) {
            continue;
        }
        tally.add(other);
        alike += u32::from(other.fails_same_way(call));
        akin += u32::from(other.shape.equals_if_known(call.shape));
        if !families.contains(&other.family()) {
            families.push(other.family());
        }
    }
    // Different things that fail one after the other are how one finds out what works; the same few
    // are not.
    let strength = match families.len() {
        _ if alike >= 4 => Strength::Strong,
        1 | 2 if akin * 2 >= tally.count => Strength::Weak,
        _ => Strength::VeryWeak,
    };
    (tally.count > 1).then(|| tally.claim(strength, NudgeTarget::Any, Digest::of("errors"), call.family_digest()))
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!("{} calls in a row failed, and nothing worked in between.", claim.count),
        unchanged: describe_outcome(view),
        progress: "any call that succeeds",
        tips: &[
            "Stop trying variations and read the last error word for word.",
            "Check the ground first: the working folder, the file's existence, the tool's expected input.",
            "Do the smallest thing that should work, and build up from there.",
        ],
        own: None,
    }
}
