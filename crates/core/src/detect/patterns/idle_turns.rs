//! Consecutive turns without a tool call.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "idle_turns",
    trigger: Trigger::ModelAnswered,
    before_result: false,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.idle_turns,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let dialogue = context.session.dialogue();
    let (count, strength) = match dialogue.unchanged_responses {
        0 | 1 => (dialogue.idle_responses, Strength::VeryWeak),
        unchanged => (unchanged, Strength::Strong),
    };
    (dialogue.idle_responses > 1).then(|| context.turn_claim(count, strength, Digest::from_bytes("idle")))
}

fn describe(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!(
            "The model answered {} in a row without a tool call and without a new prompt.",
            count_phrase(claim.ran())
        ),
        unchanged: "no action between the responses".to_owned(),
        progress: "a tool call, or a prompt by a person",
        tips: &[
            "If you wait for something, declare it (`belay wait --for-command ...`) instead of responding repeatedly.",
            "If the goal is reached or cannot be reached, say so and end the turn.",
            "Otherwise take the next step with a tool now.",
        ],
        custom_message: None,
    }
}
