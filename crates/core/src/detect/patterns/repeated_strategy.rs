//! Attempt after attempt changes the same files and fails the same way.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
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

fn look(view: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    if view.session.counters.calls > 0 {
        return None;
    }
    let count = view.session.request_history().identical_attempts();
    (count > 1).then(|| view.session_claim(count, Strength::Weak, Digest::of("attempt"), NudgeTarget::Turn))
}

fn say(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!(
            "The same files were changed {} in a row, and the same failure followed each time.",
            count_phrase(claim.count)
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
