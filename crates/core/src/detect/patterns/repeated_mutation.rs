//! The same change, made successfully again and again: each time it does more harm.

use super::{Pattern, Trigger};
use crate::detect::view::Tally;
use crate::detect::words::{outcome_of, times, what_of};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::rules::PatternRule;
use crate::session::Traits;

pub(super) static PATTERN: Pattern = Pattern {
    name: "repeated_mutation",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.repeated_mutation,
    look,
    say,
};

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if !call.edits() || !call.succeeded() || call.is_neutral() {
        return None;
    }
    let mut tally = Tally::of(call);
    for other in view.earlier(rule.window) {
        if other.succeeded() && other.same_action(call) {
            tally.add(other);
        } else if other.edits() && other.is(Traits::NEW_CHANGE) {
            break;
        }
    }
    (tally.count > 1).then(|| tally.claim(Strength::Strong, Matcher::Key(call.key), call.key, call.outcome()))
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let what = what_of(view);
    Words {
        sentence: format!("The very same change was made {}: {what}", times(claim.count)),
        unchanged: outcome_of(view),
        progress: "a change that was not made before",
        tips: &[
            "It is already in the file, maybe more than once: read the file and take the copies out.",
            "If the effect you hope for does not come, the change is in the wrong place.",
        ],
        own: None,
    }
}
