//! One tool with varied input always fails the same way.

use super::{Pattern, Trigger};
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::wording::{describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::outcome::CallStatus;
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "same_outcome",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: true,
    rule: |rules| &rules.same_outcome,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    if call.status() != Some(CallStatus::Error)
        || !is_loop_candidate(call)
        || call.is(CallFlags::NO_OUTPUT)
        || call.is(CallFlags::READ_ONLY)
    {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    let mut varied = false;
    for other in context.earlier(rule.window) {
        if other.tool == call.tool && other.has_same_result(call) {
            varied |= other.key != call.key;
            counter.add(other);
        } else if other.is(CallFlags::NEW_CHANGE) {
            break;
        }
    }
    let action = call.tool_digest();
    (counter.count > 1 && varied)
        .then(|| counter.claim(Strength::Weak, NudgeTarget::Tool(call.tool), action, call.outcome()))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!("{} different attempts ended in the same failure; last: {what}", claim.ran()),
        unchanged: describe_outcome(context),
        progress: "a different result",
        tips: &[
            "What you vary does not cause this: stop varying it and look elsewhere.",
            "Take the message literally and check the one thing it names.",
            "Try another tool or another way to the same end.",
        ],
        custom_message: None,
    }
}
