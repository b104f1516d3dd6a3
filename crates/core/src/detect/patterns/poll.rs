//! Asking again and again whether something is ready, with the same answer. Not a circle: it waits.

use super::{Pattern, Trigger};
use crate::detect::view::Tally;
use crate::detect::words::{minutes, outcome_of, times, what_of};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::outcome::Status;
use crate::rules::PatternRule;
use crate::session::Traits;

pub(super) static PATTERN: Pattern = Pattern {
    name: "poll",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.poll,
    look,
    say,
};

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    let polls = call.is(Traits::POLL) || call.status() == Some(Status::Running);
    if !polls || call.answer.is_none() || call.is_neutral() || view.session.waiting.is_some() {
        return None;
    }
    let mut tally = Tally::of(call);
    for other in view.earlier(rule.window) {
        if other.same_action(call) {
            if !other.same_answer(call) {
                break;
            }
            tally.add(other);
        }
    }
    (tally.count > 1).then(|| tally.claim(Strength::Faint, Matcher::Key(call.key), call.key, call.outcome()))
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let what = what_of(view);
    let began = view
        .session
        .window()
        .calls()
        .iter()
        .find(|call| call.ordinal == claim.first)
        .map_or(0, |call| call.at.millis());
    let millis = view.session.facts.last_at.millis().saturating_sub(began).unsigned_abs();
    Words {
        sentence: format!(
            "It waits: asked {} in {} whether something is ready, with the same answer: {what}",
            times(claim.count),
            minutes(millis)
        ),
        unchanged: outcome_of(view),
        progress: "another answer, or a declared wait",
        tips: &[
            "Wait without asking: `belay wait --for-command ...`, `--for-file ...` or `--until ...` costs no tokens.",
            "Find out whether it still runs at all before you wait on.",
        ],
        own: None,
    }
}
