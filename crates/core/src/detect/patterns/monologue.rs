//! The same thing said again, turn after turn, without doing anything.

use super::{Pattern, Trigger};
use crate::detect::words::times;
use crate::detect::{Claim, Strength, View, Words};
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

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let count = view.session.talk().alike(rule.similarity());
    (count > 1).then(|| view.between_calls(count, Strength::Strong, Digest::of("said")))
}

fn say(_: &View<'_>, claim: &Claim) -> Words {
    Words {
        sentence: format!("Much the same was said {} without a single tool call in between.", times(claim.count)),
        unchanged: "what is said".to_owned(),
        progress: "a tool call, or a new thought",
        tips: &[
            "Do one concrete thing now: read a file, run a command, make an edit.",
            "If nothing is left to do, finish; if something blocks you, name it and stop.",
        ],
        own: None,
    }
}
