//! Repeated calls during an outage, without a wait in between.

use super::{Pattern, Trigger};
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "outage_repeat",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.outage_repeat,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    if !call.is(CallFlags::OUTAGE) || call.is(CallFlags::POLL) || call.is_neutral() {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    for other in context.earlier(rule.window) {
        if other.has_same_action(call) {
            // A retry after a wait is what to do during an outage; so is one after another failure.
            if other.is(CallFlags::POLL) || !other.is(CallFlags::OUTAGE) {
                break;
            }
            counter.add(other);
        } else if other.is(CallFlags::POLL) || other.is(CallFlags::NEW_CHANGE) {
            break;
        }
    }
    (counter.count > 1)
        .then(|| counter.claim(Strength::Strong, NudgeTarget::Key(call.key), call.key, call.family_digest()))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!(
            "The same call failed {} because a service did not respond, with no wait in between: {what}",
            count_phrase(claim.ran())
        ),
        unchanged: describe_outcome(context),
        progress: "a response, a wait, or a change to the call or its environment",
        tips: &[
            "Wait before the next attempt: `belay wait --until ...` or `belay wait --for-command ...` costs no tokens.",
            "Change something: check the host name, the port, the proxy, and whether the service was started.",
            "Meanwhile, do what does not need this service, or ask for help.",
        ],
        custom_message: None,
    }
}
