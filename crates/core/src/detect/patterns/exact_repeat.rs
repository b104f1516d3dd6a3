//! The same call, answered the same way, again and again with nothing in between.

use super::{Pattern, Trigger};
use crate::detect::view::{Tally, can_circle};
use crate::detect::words::{outcome_of, times, what_of};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::rules::PatternRule;
use crate::session::Traits;

pub(super) static PATTERN: Pattern = Pattern {
    name: "exact_repeat",
    trigger: Trigger::Answered,
    ahead: true,
    outlives_edits: false,
    rule: |rules| &rules.exact_repeat,
    look,
    say,
};

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    same_answer(view).or_else(|| same_cause(view, rule))
}

fn same_answer(view: &View<'_>) -> Option<Claim> {
    let repeats = view.repeats()?;
    let call = repeats.answered;
    let claim = || repeats.tally.claim(repeats.strength(), Matcher::Key(call.key), call.key, call.outcome());
    (repeats.between == 0).then(claim)
}

/// The same call failing over and over for one cause, though the wording varies from run to run.
fn same_cause(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    let last = if view.asked { view.earlier(rule.window).next()? } else { call };
    if !can_circle(last) || last.is(Traits::BARE) || !last.same_action(call) {
        return None;
    }
    let mut tally = Tally::of(call);
    for other in view.earlier(rule.window) {
        let same_family = other.failed() && other.family().same(last.family());
        if !other.same_action(call) || !(same_family || other.fails_like(last)) {
            break;
        }
        tally.add(other);
    }
    (tally.count > 1).then(|| tally.claim(Strength::Weak, Matcher::Key(call.key), call.key, call.family_digest()))
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let what = what_of(view);
    Words {
        sentence: format!(
            "The same call was made {} in a row and led to the same result each time: {what}",
            times(claim.count)
        ),
        unchanged: outcome_of(view),
        progress: "a different result, or a change to the project before trying again",
        tips: &[
            "Read the last result as final: running the call again will not change it.",
            "Change something first (the code, the arguments, the environment), then try once.",
            "If the result is what you needed, use it and go on to the next step.",
        ],
        own: None,
    }
}
