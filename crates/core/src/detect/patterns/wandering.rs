//! Going over what is known already: few calls bring anything new, and nothing is changed.

use super::{Pattern, Trigger};
use crate::detect::view::{Tally, can_circle};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::Traits;

pub(super) static PATTERN: Pattern = Pattern {
    name: "wandering",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.wandering,
    look,
    say,
};

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if !can_circle(call) || call.is(Traits::NEW_PAIR) || call.is(Traits::PASSED) {
        return None;
    }
    let mut tally = Tally::of(call);
    let mut seen = 1;
    for other in view.earlier(rule.window).filter(|other| can_circle(other)) {
        if other.is(Traits::NEW_CHANGE) {
            break;
        }
        seen += 1;
        if !other.is(Traits::NEW_PAIR) && !other.is(Traits::PASSED) && !other.says_little() {
            tally.add(other);
        }
    }
    let enough = seen as usize >= rule.window;
    enough.then(|| tally.claim(Strength::Weak, Matcher::Any, Digest::of("wandering"), Digest(0)))
}

fn say(_: &View<'_>, claim: &Claim) -> Words {
    Words {
        sentence: format!(
            "{} of the last calls only went over what was known already, and nothing was changed.",
            claim.count
        ),
        unchanged: "what is known".to_owned(),
        progress: "a file or range not looked at before, or a change to the project",
        tips: &[
            "Say in two sentences what you know and what exactly is missing.",
            "Decide: make the change you think is right and test it, or ask.",
        ],
        own: None,
    }
}
