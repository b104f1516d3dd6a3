//! Turns that repeat nearly the same text without a tool call.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "monologue",
    trigger: Trigger::ModelAnswered,
    before_result: false,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.monologue,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let count = context.session.dialogue().similar_in_a_row(rule.similarity());
    (count > 1).then(|| context.turn_claim(count, Strength::Strong, Digest::from_bytes("said")))
}

fn describe(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!(
            "Nearly the same text was produced {} without a tool call in between.",
            count_phrase(claim.ran())
        ),
        unchanged: "the text".to_owned(),
        progress: "a tool call, or new content",
        tips: &[
            "Do one concrete thing now: read a file, run a command, make an edit.",
            "If nothing is left to do, finish; if something blocks you, name it and stop.",
        ],
        custom_message: None,
    }
}
