//! The agent claims to be done, continues on its own or on request, and claims it again.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "completion_claims",
    trigger: Trigger::CompletionClaimed,
    before_result: true,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.completion_claims,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let calls = context.session.dialogue().unaccepted_claims();
    let first = *calls.first()?;
    let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
    Some(Claim {
        count,
        denied: 0,
        strength: Strength::Strong,
        action: Digest::of("done"),
        outcome: Digest::of("not accepted"),
        first,
        calls,
        entries: Vec::new(),
        nudge_target: NudgeTarget::Any,
    })
}

fn describe(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!(
            "The work was declared done {}, and continued each time without a change to the project.",
            count_phrase(claim.ran())
        ),
        unchanged: "nothing was changed between the claims".to_owned(),
        progress: "a change to the project, or acceptance by a person",
        tips: &[
            "Find out exactly what is not accepted: read the last refusal or check output carefully.",
            "Run the check that decides, and fix what it reports.",
            "If you think it is done and the check is wrong, say so once and stop.",
        ],
        custom_message: None,
    }
}
