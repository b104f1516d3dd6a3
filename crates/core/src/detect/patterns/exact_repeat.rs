//! The same call with the same result, repeatedly and with nothing in between.

use super::{Pattern, Trigger};
use crate::detect::call_context::BatchCounter;
use crate::detect::repeat_count::is_judged_by_result;
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "exact_repeat",
    trigger: Trigger::CallUpdated,
    before_result: true,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.exact_repeat,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    same_answer(context).or_else(|| same_cause(context, rule))
}

fn same_answer(context: &CallContext<'_>) -> Option<Claim> {
    let repeats = context.repeats()?;
    let call = repeats.latest;
    let claim = || repeats.counter.claim(repeats.strength(), NudgeTarget::Key(call.key), call.key, call.outcome());
    repeats.is_consecutive().then(claim)
}

/// The same call failing for the same cause, though the message varies.
fn same_cause(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    let last = if context.pending { context.earlier(rule.window).next()? } else { call };
    if context.pending && is_judged_by_result(last)
        || !context.is_loop_candidate(last)
        || last.is(CallFlags::NO_OUTPUT)
        || !last.has_same_action(call)
    {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    for other in context.earlier_with_allowed(rule.window) {
        let same_family = other.failed() && other.family().equals_if_known(last.family());
        let is_boundary = other.is(CallFlags::ALLOWED) || !other.has_same_action(call);
        if is_boundary || !(same_family || other.fails_same_way(last)) {
            break;
        }
        counter.add(other);
    }
    (counter.count > 1)
        .then(|| counter.claim(Strength::Weak, NudgeTarget::Key(call.key), call.key, call.family_digest()))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!(
            "The same call was made {} in a row and led to the same result each time: {what}",
            count_phrase(claim.ran())
        ),
        unchanged: describe_outcome(context),
        progress: "a different result, or a change to the project before trying again",
        tips: &[
            "Read the last result as final: running the call again will not change it.",
            "Change something first (the code, the arguments, the environment), then try once.",
            "If the result is what you needed, use it and continue with the next step.",
        ],
        custom_message: None,
    }
}
