//! The model's output degenerated into repeating itself.

use super::{Pattern, Trigger};
use crate::detect::words::times;
use crate::detect::{Claim, Strength, View, Words};
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

fn look(view: &View<'_>, _: &PatternRule) -> Option<Claim> {
    let count = view.session.talk().chants;
    (count > 0).then(|| view.between_calls(count, Strength::Strong, Digest::of("chant")))
}

fn say(_: &View<'_>, claim: &Claim) -> Words {
    Words {
        sentence: match claim.count {
            1 => "The model's output fell into repeating the same words.".to_owned(),
            n => format!("The model's output fell into repeating the same words, {} so far.", times(n)),
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
