//! Model requests with nothing new, for sensors that do not see tool calls.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "request_overlap",
    trigger: Trigger::ModelAsked,
    before_result: false,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.request_overlap,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    // If calls are visible, the other patterns have better evidence.
    if context.session.counters.calls > 0 {
        return None;
    }
    let count = context.session.request_history().similar_in_a_row(rule.similarity());
    (count > 1).then(|| context.session_claim(count, Strength::Weak, Digest::from_bytes("request"), NudgeTarget::Turn))
}

fn describe(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!("The model was asked nearly the same thing {} in a row.", count_phrase(claim.ran())),
        unchanged: "the new part of each request is nearly the same text".to_owned(),
        progress: "a request that carries a new result",
        tips: &[
            "The last answers did not help: change the question, not its wording.",
            "State what was tried and what the result was, and ask for a different approach.",
        ],
        custom_message: None,
    }
}
