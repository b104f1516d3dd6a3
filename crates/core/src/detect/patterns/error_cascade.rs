//! Consecutive errors with no success in between.

use super::{Pattern, Trigger};
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::wording::describe_outcome;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::outcome::CallStatus;
use crate::rules::PatternRule;
use crate::session::{Call, CallFlags};

pub(super) static PATTERN: Pattern = Pattern {
    name: "error_cascade",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.error_cascade,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    // Refusals have their own pattern, and so do outages.
    if !call.failed()
        || call.status() == Some(CallStatus::Refused)
        || !is_loop_candidate(call)
        || call.is(CallFlags::NO_OUTPUT)
        || has_new_result(call)
    {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    let (mut same_failure, mut same_shape, mut families) = (1, 1, vec![call.family()]);
    for other in context.earlier_with_allowed(rule.window) {
        if !other.failed() || has_new_result(other) {
            break;
        }
        if other.is_neutral() || other.is(CallFlags::OUTAGE) || other.status() == Some(CallStatus::Refused) {
            continue;
        }
        counter.add(other);
        same_failure += u32::from(other.fails_same_way(call));
        same_shape += u32::from(other.shape.equals_if_known(call.shape));
        if !families.contains(&other.family()) {
            families.push(other.family());
        }
    }
    // Different failures are exploration; the same few are not.
    let strength = match families.len() {
        _ if same_failure >= 4 => Strength::Strong,
        1 | 2 if same_shape * 2 >= counter.count => Strength::Weak,
        _ => Strength::VeryWeak,
    };
    (counter.count > 1)
        .then(|| counter.claim(strength, NudgeTarget::Any, Digest::from_bytes("errors"), call.family_digest()))
}

/// A check that exits non-zero with findings it did not have before has done its work.
fn has_new_result(call: &Call) -> bool {
    call.is(CallFlags::CHECK) && call.is(CallFlags::NEW_ACTION_OUTCOME)
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!("{} calls in a row failed, with no success in between.", claim.ran()),
        unchanged: describe_outcome(context),
        progress: "any call that succeeds",
        tips: &[
            "Stop trying variations and read the last error carefully.",
            "Check the basics first: the working directory, the file's existence, the tool's expected input.",
            "Do the smallest thing that should work, and build up from there.",
        ],
        custom_message: None,
    }
}
