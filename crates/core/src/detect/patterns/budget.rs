//! A budget a person set is used up, or nearly.

use super::{Pattern, Trigger};
use crate::detect::words::{dollars, tokens};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "budget",
    trigger: Trigger::Spent,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.budget,
    look,
    say,
};

/// Counts percent of the budget that is used up most.
fn look(view: &View<'_>, _: &PatternRule) -> Option<Claim> {
    let (percent, what) = view.session.budget_use()?;
    Some(view.of_session(percent, Strength::Strong, Digest::of(what), Matcher::Any))
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let spent = &view.session.spent;
    let what = view.session.budget_use().map_or("budget", |(_, what)| what);
    Words {
        sentence: format!(
            "{} % of the {what} is used ({} tokens, {} so far).",
            claim.count,
            tokens(spent.usage.total()),
            dollars(spent.cost_micros)
        ),
        unchanged: "the limit a person set".to_owned(),
        progress: "a raised budget (`belay budget`, or `detect.budget` in the settings), or an end of the work",
        tips: &[
            "Bring the work to a state that can be left: commit, and write down what is open.",
            "Take no new task.",
        ],
        own: None,
    }
}
