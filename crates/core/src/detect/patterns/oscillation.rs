//! Putting text in, taking it out, putting it in again.

use super::{Pattern, Trigger};
use crate::detect::view::Tally;
use crate::detect::words::{times, what_of};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::Call;

pub(super) static PATTERN: Pattern = Pattern {
    name: "oscillation",
    trigger: Trigger::Answered,
    outlives_edits: true,
    rule: |rules| &rules.oscillation,
    look,
    say,
};

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if !turns(call) {
        return None;
    }
    let mut tally = Tally::of(call);
    let mut next = call;
    for other in view.earlier(rule.window) {
        if turns(other) && other.target.fits(call.target) && undoes(next, other) {
            tally.add(other);
            next = other;
        }
    }
    let action = Digest::of_parts([&call.shape_bytes()[..]]);
    (tally.count > 1)
        .then(|| tally.claim(Strength::Weak, Matcher::Target(call.target), action, Digest::of("there and back")))
}

fn turns(call: &Call) -> bool {
    call.edits() && call.succeeded() && (call.before.is_some() || call.after.is_some())
}

/// What one put in, the other took out, or the other way round.
fn undoes(later: &Call, earlier: &Call) -> bool {
    later.before == earlier.after && later.after == earlier.before && later.before != later.after
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let what = what_of(view);
    Words {
        sentence: format!("The same text was put in and taken out again, {} so far: {what}", times(claim.count)),
        unchanged: "the file is back where it was".to_owned(),
        progress: "content the file has not had before",
        tips: &[
            "Neither state is right: say what each of the two breaks, and look for a third.",
            "Look at the whole file once before the next edit.",
        ],
    }
}
