//! Attempt after attempt changes the same files and fails the same way.

use super::{Pattern, Trigger};
use crate::detect::words::times;
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "repeated_strategy",
    trigger: Trigger::Asked,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.repeated_strategy,
    look,
    say,
};

fn look(view: &View<'_>, _: &PatternRule) -> Option<Claim> {
    if view.session.counters.calls > 0 {
        return None;
    }
    let count = view.session.asks().same_attempts();
    (count > 1).then(|| view.of_session(count, Strength::Weak, Digest::of("attempt"), Matcher::Turn))
}

fn say(_: &View<'_>, claim: &Claim) -> Words {
    Words {
        sentence: format!(
            "The same files were changed {} in a row, and the same failure followed each time.",
            times(claim.count)
        ),
        unchanged: "the files changed and the failure".to_owned(),
        progress: "another failure, a passing check, or another place to change",
        tips: &[
            "The cause is probably not in these files: trace the failure to where it starts.",
            "Undo the last attempts and reproduce the failure in the smallest way you can.",
        ],
        own: None,
    }
}
