//! One tool, varied input, always the same failure.

use super::{Pattern, Trigger};
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::wording::{describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::outcome::CallStatus;
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "same_outcome",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.same_outcome,
    look,
    say,
};

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if call.status() != Some(CallStatus::Error)
        || !is_loop_candidate(call)
        || call.is(CallFlags::NO_OUTPUT)
        || call.is(CallFlags::READ_ONLY)
    {
        return None;
    }
    let mut tally = BatchCounter::of(call);
    let mut varied = false;
    for other in view.earlier(rule.window) {
        if other.tool == call.tool && other.has_same_result(call) {
            varied |= other.key != call.key;
            tally.add(other);
        } else if other.is(CallFlags::NEW_CHANGE) {
            break;
        }
    }
    let action = call.tool_digest();
    (tally.count > 1 && varied)
        .then(|| tally.claim(Strength::Weak, NudgeTarget::Tool(call.tool), action, call.outcome()))
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(view);
    Wording {
        sentence: format!("{} different tries ended in the same failure; last: {what}", claim.count),
        unchanged: describe_outcome(view),
        progress: "a result that differs from the last ones",
        tips: &[
            "What you vary is not what causes this: leave it and look elsewhere.",
            "Take the message literally and check the one thing it names.",
            "Try another tool or another way to reach the same aim.",
        ],
        own: None,
    }
}
