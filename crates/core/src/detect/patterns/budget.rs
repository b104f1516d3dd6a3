//! A budget a person set is used up, or nearly.

use super::{Pattern, Trigger};
use crate::detect::wording::{dollars, tokens};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
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
fn look(view: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let (percent, what) = view.session.highest_budget_use()?;
    Some(view.session_claim(percent, Strength::Strong, Digest::of(what), NudgeTarget::Any))
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let spent = &view.session.spent;
    let what = view.session.highest_budget_use().map_or("budget", |(_, what)| what);
    Wording {
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
