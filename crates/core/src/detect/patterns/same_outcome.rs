//! One tool, varied input, always the same failure.

use super::{Pattern, Trigger};
use crate::detect::view::{Tally, can_circle};
use crate::detect::words::{outcome_of, what_of};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::outcome::Status;
use crate::rules::PatternRule;
use crate::session::Traits;

pub(super) static PATTERN: Pattern = Pattern {
    name: "same_outcome",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.same_outcome,
    look,
    say,
};

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if call.status() != Some(Status::Error) || !can_circle(call) || call.is(Traits::BARE) || call.is(Traits::LOOKS) {
        return None;
    }
    let mut tally = Tally::of(call);
    let mut varied = false;
    for other in view.earlier(rule.window) {
        if other.tool == call.tool && other.same_answer(call) {
            varied |= other.key != call.key;
            tally.add(other);
        } else if other.is(Traits::NEW_CHANGE) {
            break;
        }
    }
    let action = call.tool_digest();
    (tally.count > 1 && varied).then(|| tally.claim(Strength::Weak, Matcher::Tool(call.tool), action, call.outcome()))
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let what = what_of(view);
    Words {
        sentence: format!("{} different tries ended in the same failure; last: {what}", claim.count),
        unchanged: outcome_of(view),
        progress: "a result that differs from the last ones",
        tips: &[
            "What you vary is not what causes this: leave it and look elsewhere.",
            "Take the message literally and check the one thing it names.",
            "Try another tool or another way to reach the same aim.",
        ],
        own: None,
    }
}
