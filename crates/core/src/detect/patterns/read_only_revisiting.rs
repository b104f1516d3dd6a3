//! The agent keeps reading; little of it is new, and nothing is changed.

use super::{Pattern, Trigger};
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{count_phrase, describe_call};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "read_only_revisiting",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.read_only_revisiting,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    if !call.is(CallFlags::READ_ONLY)
        || call.is(CallFlags::FIRST_READ)
        || !context.is_loop_candidate(call)
        || call.result.is_none()
    {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    let mut new = 0;
    for other in context.earlier(rule.window) {
        if other.is(CallFlags::MUTATES) || other.is(CallFlags::CHECK) {
            return None;
        }
        if other.is(CallFlags::FIRST_READ) {
            new += 1;
        } else if other.is(CallFlags::READ_ONLY) {
            counter.add(other);
        }
    }
    // If at least every other read is new, the agent is exploring.
    let mostly_known = counter.count > new;
    mostly_known.then(|| counter.claim(Strength::Weak, NudgeTarget::Any, Digest::from_bytes("looking"), Digest(0)))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!(
            "Known content was read again {}, and nothing was changed or run; last: {what}",
            count_phrase(claim.ran())
        ),
        unchanged: "the content".to_owned(),
        progress: "content not read before, a change, or a test",
        tips: &[
            "Write down in three lines what you found; that is what you would look for again.",
            "Make the smallest change you are fairly sure of, and run a check.",
            "If something is missing, ask for it by name.",
        ],
        custom_message: None,
    }
}
