//! The same thing said again, turn after turn, without doing anything.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "monologue",
    trigger: Trigger::Said,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.monologue,
    look,
    say,
};

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let count = view.session.dialogue().similar_in_a_row(rule.similarity());
    (count > 1).then(|| view.turn_claim(count, Strength::Strong, Digest::of("said")))
}

fn say(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!(
            "Much the same was said {} without a single tool call in between.",
            count_phrase(claim.count)
        ),
        unchanged: "what is said".to_owned(),
        progress: "a tool call, or a new thought",
        tips: &[
            "Do one concrete thing now: read a file, run a command, make an edit.",
            "If nothing is left to do, finish; if something blocks you, name it and stop.",
        ],
        own: None,
    }
}
