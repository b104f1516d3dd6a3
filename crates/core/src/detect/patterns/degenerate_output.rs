//! The model's output degenerated into repeating itself.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "chanting",
    trigger: Trigger::Said,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.chanting,
    look,
    say,
};

fn look(view: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let count = view.session.dialogue().chants;
    (count > 0).then(|| view.turn_claim(count, Strength::Strong, Digest::of("chant")))
}

fn say(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: match claim.count {
            1 => "The model's output fell into repeating the same words.".to_owned(),
            n => format!("The model's output fell into repeating the same words, {} so far.", count_phrase(n)),
        },
        unchanged: "the same words over and over".to_owned(),
        progress: "an answer that says something once",
        tips: &[
            "Answer briefly and in your own words.",
            "Start over from the last thing that worked, in a fresh context if you can.",
        ],
        own: None,
    }
}
