//! Edits of one file that keep failing for one cause, whatever the text.

use super::{Pattern, Trigger};
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::outcome::CallStatus;
use crate::rules::PatternRule;
use crate::session::{Call, CallFlags};

pub(super) static PATTERN: Pattern = Pattern {
    name: "failing_edits",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: false,
    rule: |rules| &rules.failing_edits,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    if !fails(call) || !is_loop_candidate(call) {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    // Reading the file between two attempts adds information.
    let (mut new_reads, mut pending_reads) = (0, 0);
    for other in context.earlier(rule.window) {
        if !other.edits() || !other.target.is_compatible_with(call.target) {
            pending_reads += u32::from(other.is(CallFlags::FIRST_READ));
            continue;
        }
        if fails(other) {
            if other.family() == call.family() {
                counter.add(other);
                new_reads += std::mem::take(&mut pending_reads);
            }
        } else if other.is(CallFlags::NEW_CHANGE) {
            break;
        }
    }
    let strength = if new_reads == 0 { Strength::Strong } else { Strength::Weak };
    let nudge_target =
        if call.target.is_some() { NudgeTarget::Target(call.target) } else { NudgeTarget::Tool(call.tool) };
    let action = call.target_digest();
    (counter.count > 1).then(|| counter.claim(strength, nudge_target, action, call.family_digest()))
}

fn fails(call: &Call) -> bool {
    call.edits() && matches!(call.status(), Some(CallStatus::Error | CallStatus::TimedOut))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!("Edits of the same file failed {} for the same reason: {what}", count_phrase(claim.ran())),
        unchanged: describe_outcome(context),
        progress: "an edit that is accepted, or one that fails for another reason",
        tips: &[
            "Read the exact lines you want to change again, then copy them byte for byte (mind indentation and tabs).",
            "Make the edited text smaller, or add surrounding lines until it is unique.",
            "If it still does not match, rewrite the whole function or file instead.",
        ],
        custom_message: None,
    }
}
