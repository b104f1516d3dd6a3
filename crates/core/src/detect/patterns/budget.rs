//! A budget is exhausted or nearly so.

use super::{Pattern, Trigger};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::format::{cost, tokens};
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "budget",
    trigger: Trigger::Spent,
    before_result: false,
    outlives_edits: true,
    second_look: false,
    rule: |rules| &rules.budget,
    detect,
    describe,
};

/// The count is the percentage used of the most exhausted budget.
fn detect(context: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let (percent, what) = context.session.highest_budget_use()?;
    Some(context.session_claim(percent, Strength::Strong, Digest::from_bytes(what), NudgeTarget::Any))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let spent = &context.session.spent;
    if let Some(model) = context.session.refused_model() {
        return Wording {
            sentence: format!("{model} has no price, so the budget in US dollars cannot limit it."),
            unchanged: "`detect.budget.unknown_model` is `refuse`".to_owned(),
            progress: "a price for the model (`detect.prices` in the settings), or another model",
            tips: &[],
            custom_message: None,
        };
    }
    let what = context.session.highest_budget_use().map_or("budget", |(_, what)| what);
    Wording {
        sentence: format!(
            "{} % of the {what} is used ({}, {} so far).",
            claim.count,
            tokens(spent.usage.total()),
            cost(spent.cost_micros, spent.unpriced_micros)
        ),
        unchanged: "the configured limit".to_owned(),
        progress: "a raised budget (`belay budget`, or `detect.budget` in the settings), or the end of the work",
        tips: &[
            "Bring the work to a clean stopping point: commit, and write down what is open.",
            "Do not start a new task.",
        ],
        custom_message: None,
    }
}
