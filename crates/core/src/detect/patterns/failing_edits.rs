//! Edits of one file that keep failing for one cause, whatever text is tried.

use super::{Pattern, Trigger};
use crate::detect::view::{Tally, can_circle};
use crate::detect::words::{outcome_of, times, what_of};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::outcome::Status;
use crate::rules::PatternRule;
use crate::session::{Call, Traits};

pub(super) static PATTERN: Pattern = Pattern {
    name: "failing_edits",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.failing_edits,
    look,
    say,
};

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if !fails(call) || !can_circle(call) {
        return None;
    }
    let mut tally = Tally::of(call);
    // Who looks at the place anew between two tries learns something; who just tries does not.
    let (mut sights, mut sights_since) = (0, 0);
    for other in view.earlier(rule.window) {
        if !other.edits() || !other.target.fits(call.target) {
            sights_since += u32::from(other.is(Traits::NEW_SIGHT));
            continue;
        }
        if fails(other) {
            if other.family() == call.family() {
                tally.add(other);
                sights += std::mem::take(&mut sights_since);
            }
        } else if other.is(Traits::NEW_CHANGE) {
            break;
        }
    }
    let strength = if sights == 0 { Strength::Strong } else { Strength::Weak };
    let matcher = if call.target.is_some() { Matcher::Target(call.target) } else { Matcher::Tool(call.tool) };
    let action = call.target_digest();
    (tally.count > 1).then(|| tally.claim(strength, matcher, action, call.family_digest()))
}

fn fails(call: &Call) -> bool {
    call.edits() && matches!(call.status(), Some(Status::Error | Status::TimedOut))
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let what = what_of(view);
    Words {
        sentence: format!("Edits of the same file failed {} for the same reason: {what}", times(claim.count)),
        unchanged: outcome_of(view),
        progress: "an edit that is accepted, or one that fails for another reason",
        tips: &[
            "Read the exact lines you want to change again, then copy them byte for byte (mind indentation and tabs).",
            "Make the piece smaller, or add lines around it until it is unique.",
            "If it still does not fit, write the whole function or file anew instead.",
        ],
        own: None,
    }
}
