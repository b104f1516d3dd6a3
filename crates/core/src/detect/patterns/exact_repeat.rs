//! The same call, answered the same way, again and again with nothing in between.

use super::{Pattern, Trigger};
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "exact_repeat",
    trigger: Trigger::Answered,
    ahead: true,
    outlives_edits: false,
    rule: |rules| &rules.exact_repeat,
    look,
    say,
};

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    same_answer(view).or_else(|| same_cause(view, rule))
}

fn same_answer(view: &CallContext<'_>) -> Option<Claim> {
    let repeats = view.repeats()?;
    let call = repeats.answered;
    let claim = || repeats.tally.claim(repeats.strength(), NudgeTarget::Key(call.key), call.key, call.outcome());
    (repeats.between == 0).then(claim)
}

/// The same call failing over and over for one cause, though the wording varies from run to run.
fn same_cause(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    let last = if view.asked { view.earlier(rule.window).next()? } else { call };
    if !is_loop_candidate(last) || last.is(CallFlags::NO_OUTPUT) || !last.has_same_action(call) {
        return None;
    }
    let mut tally = BatchCounter::of(call);
    for other in view.earlier(rule.window) {
        let same_family = other.failed() && other.family().equals_if_known(last.family());
        if !other.has_same_action(call) || !(same_family || other.fails_same_way(last)) {
            break;
        }
        tally.add(other);
    }
    (tally.count > 1).then(|| tally.claim(Strength::Weak, NudgeTarget::Key(call.key), call.key, call.family_digest()))
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(view);
    Wording {
        sentence: format!(
            "The same call was made {} in a row and led to the same result each time: {what}",
            count_phrase(claim.count)
        ),
        unchanged: describe_outcome(view),
        progress: "a different result, or a change to the project before trying again",
        tips: &[
            "Read the last result as final: running the call again will not change it.",
            "Change something first (the code, the arguments, the environment), then try once.",
            "If the result is what you needed, use it and go on to the next step.",
        ],
        own: None,
    }
}
