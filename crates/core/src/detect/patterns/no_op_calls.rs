//! Calls in a row that do nothing by design, in whatever form.

use super::{Pattern, Trigger};
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{count_phrase, describe_call};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "no_op_calls",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.no_op_calls,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    if !call.is(CallFlags::NO_OP) || call.is_neutral() || context.session.waiting.is_some() {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    let earlier = context.earlier_with_allowed(rule.window);
    earlier
        .take_while(|other| other.is(CallFlags::NO_OP) && !other.is(CallFlags::ALLOWED))
        .for_each(|other| counter.add(other));
    let (action, outcome) = (Digest::from_bytes("no-op"), Digest::from_bytes("nothing"));
    (counter.count > 1).then(|| counter.claim(Strength::Strong, NudgeTarget::Any, action, outcome))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!("Calls that do nothing were made {} in a row; last: {what}", count_phrase(claim.ran())),
        unchanged: "nothing was read, run or changed".to_owned(),
        progress: "a call that does something, or the end of the turn",
        tips: &[
            "If the work is done, end the turn instead of calling a tool.",
            "If you wait for something, declare it (`belay wait --for-command ...`).",
        ],
        custom_message: None,
    }
}
