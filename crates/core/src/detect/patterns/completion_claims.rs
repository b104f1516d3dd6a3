//! "Done", says the agent; it is told to go on, or goes on by itself; "done", it says again.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "completion_claims",
    trigger: Trigger::Claimed,
    ahead: true,
    outlives_edits: false,
    rule: |rules| &rules.completion_claims,
    look,
    say,
};

fn look(view: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let calls = view.session.dialogue().unaccepted_claims();
    let first = *calls.first()?;
    let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
    Some(Claim {
        count,
        strength: Strength::Strong,
        action: Digest::of("done"),
        outcome: Digest::of("not accepted"),
        first,
        calls,
        matcher: NudgeTarget::Any,
    })
}

fn say(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!(
            "The work was declared done {}, and went on each time without a change to the project.",
            count_phrase(claim.count)
        ),
        unchanged: "nothing was changed between the claims".to_owned(),
        progress: "a change to the project, or a person who accepts the result",
        tips: &[
            "Find out what exactly is not accepted: read the last refusal or check word for word.",
            "Run the check that decides, and change what it complains about.",
            "If you think it is done and the check is wrong, say so once and stop.",
        ],
        own: None,
    }
}
