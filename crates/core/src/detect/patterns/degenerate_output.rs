//! The model's output degenerated into repeating itself.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "degenerate_output",
    trigger: Trigger::ModelAnswered,
    before_result: false,
    outlives_edits: false,
    second_look: false,
    rule: |rules| &rules.degenerate_output,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let count = context.session.dialogue().degenerate_responses;
    (count > 0).then(|| context.turn_claim(count, Strength::Strong, Digest::from_bytes("chant")))
}

fn describe(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: match claim.count {
            1 => "The model's output degenerated into repetition.".to_owned(),
            n => format!("The model's output degenerated into repetition, {} so far.", count_phrase(n)),
        },
        unchanged: "the repeated text".to_owned(),
        progress: "a response without repetition",
        tips: &[
            "Answer briefly and without repeating yourself.",
            "Start over from the last thing that worked, in a fresh context if you can.",
        ],
        custom_message: None,
    }
}
