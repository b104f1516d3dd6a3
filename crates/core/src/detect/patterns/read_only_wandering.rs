//! Looking and looking: little of it is new, and nothing is changed.

use super::{Pattern, Trigger};
use crate::detect::view::{Tally, can_circle};
use crate::detect::words::{times, what_of};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::Traits;

pub(super) static PATTERN: Pattern = Pattern {
    name: "read_only_wandering",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.read_only_wandering,
    look,
    say,
};

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if !call.is(Traits::LOOKS) || call.is(Traits::NEW_SIGHT) || !can_circle(call) || call.answer.is_none() {
        return None;
    }
    let mut tally = Tally::of(call);
    let mut new = 0;
    for other in view.earlier(rule.window) {
        if other.is(Traits::MUTATES) || other.is(Traits::CHECK) {
            return None;
        }
        if other.is(Traits::NEW_SIGHT) {
            new += 1;
        } else if other.is(Traits::LOOKS) {
            tally.add(other);
        }
    }
    // Who still finds something new at every other look is reading, not wandering.
    let wandering = tally.count > new;
    wandering.then(|| tally.claim(Strength::Weak, Matcher::Any, Digest::of("looking"), Digest(0)))
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let what = what_of(view);
    Words {
        sentence: format!(
            "Things seen before were looked at {}, and nothing was changed or run; last: {what}",
            times(claim.count)
        ),
        unchanged: "what there is to see".to_owned(),
        progress: "a place not looked at before, a change, or a test",
        tips: &[
            "Write down in three lines what you found; that is what you would look for again.",
            "Make the smallest change you are fairly sure of, and run a check.",
            "If something is missing, ask for it by name.",
        ],
        own: None,
    }
}
