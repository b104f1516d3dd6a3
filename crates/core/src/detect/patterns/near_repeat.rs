//! The same call but for numbers and indentation, answered the same way.

use super::{Pattern, Trigger};
use crate::detect::view::{Tally, can_circle};
use crate::detect::words::{outcome_of, times, what_of};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::rules::PatternRule;
use crate::session::Traits;

pub(super) static PATTERN: Pattern = Pattern {
    name: "near_repeat",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.near_repeat,
    look,
    say,
};

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    // Edits that fail have a pattern of their own, and a change that was accepted is work, however alike the next one looks.
    let accepted = call.succeeded() && (call.is(Traits::MUTATES) || call.is(Traits::PASSED));
    if !can_circle(call) || !call.skeleton.is_some() || call.says_little() || accepted || call.edits() {
        return None;
    }
    let mut tally = Tally::of(call);
    let mut varied = false;
    for other in view.earlier(rule.window) {
        if other.skeleton.same(call.skeleton) && other.place.fits(call.place) && other.kind == call.kind {
            if !other.same_answer(call) {
                break;
            }
            varied |= other.key != call.key;
            tally.add(other);
        } else if other.is(Traits::NEW_CHANGE) {
            break;
        }
    }
    let strength = if call.failed() { Strength::Strong } else { Strength::Weak };
    let matcher = Matcher::Key(call.key);
    (tally.count > 1 && varied).then(|| tally.claim(strength, matcher, call.key, call.outcome()))
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let what = what_of(view);
    Words {
        sentence: format!(
            "Nearly the same call (only numbers or indentation differ) was made {} with the same result: {what}",
            times(claim.count)
        ),
        unchanged: outcome_of(view),
        progress: "a different result",
        tips: &[
            "The numbers you vary do not matter to this result; find out what does.",
            "Look at the place itself instead of guessing line numbers or offsets.",
        ],
        own: None,
    }
}
