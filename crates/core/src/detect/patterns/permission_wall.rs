//! The agent keeps requesting what was refused. Not a loop: it needs a person.

use super::{Pattern, Trigger};
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::outcome::CallStatus;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "permission_wall",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: true,
    second_look: true,
    rule: |rules| &rules.permission_wall,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    if call.status() != Some(CallStatus::Refused) || call.is_neutral() {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    for other in context.earlier(rule.window) {
        match other.status() {
            // People word refusals differently each time; a policy does not.
            Some(CallStatus::Refused) if other.outcome() == call.outcome() => counter.add(other),
            // The same tool was permitted in between.
            Some(CallStatus::Ok) if other.tool == call.tool => break,
            _ => {}
        }
    }
    (counter.count > 1).then(|| {
        counter.claim(Strength::Strong, NudgeTarget::Tool(call.tool), call.tool_digest(), Digest::from_bytes("refused"))
    })
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!("Waiting for a person: permission was refused {}; last: {what}", count_phrase(claim.ran())),
        unchanged: describe_outcome(context),
        progress: "a person's permission, or an approach that needs none",
        tips: &[
            "Do not reword the request: no one is there to answer it, or the answer is no.",
            "Continue with what needs no permission, and list what is left for the person.",
            "If nothing is left, stop and say exactly what you need and why.",
        ],
        custom_message: None,
    }
}
