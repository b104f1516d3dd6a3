//! Consecutive attempts change the same files and fail the same way.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "repeated_strategy",
    trigger: Trigger::ModelAsked,
    before_result: false,
    outlives_edits: true,
    second_look: true,
    rule: |rules| &rules.repeated_strategy,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    if context.session.counters.calls > 0 {
        return None;
    }
    let count = context.session.request_history().identical_attempts();
    (count > 1).then(|| context.session_claim(count, Strength::Weak, Digest::from_bytes("attempt"), NudgeTarget::Turn))
}

fn describe(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!(
            "The same files were changed {} in a row, and the same failure followed each time.",
            count_phrase(claim.ran())
        ),
        unchanged: "the files changed and the failure".to_owned(),
        progress: "a different failure, a passing check, or a change elsewhere",
        tips: &[
            "The cause is probably not in these files: trace the failure to where it starts.",
            "Undo the last attempts and reproduce the failure in the smallest way you can.",
        ],
        custom_message: None,
    }
}
