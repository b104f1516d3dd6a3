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
    let dialogue = context.session.dialogue();
    let unchanged = dialogue.unaccepted_claims();
    // With changes in between that did not answer the refusal.
    let refused = dialogue.claims_refused_alike();
    let (calls, strength, outcome) = match refused.len() > unchanged.len() {
        true => (refused, Strength::Weak, refused_alike()),
        false => (unchanged, Strength::Strong, Digest::from_bytes("not accepted")),
    };
    let first = *calls.first()?;
    let count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
    Some(Claim {
        count,
        denied: 0,
        strength,
        action: Digest::from_bytes("done"),
        outcome,
        first,
        calls,
        entries: Vec::new(),
        nudge_target: NudgeTarget::Any,
    })
}

/// The outcome of claims that were refused in the same words.
fn refused_alike() -> Digest {
    Digest::from_bytes("refused alike")
}

fn describe(_: &CallContext<'_>, claim: &Claim) -> Wording {
    let times = count_phrase(claim.ran());
    let (sentence, unchanged) = match claim.outcome == refused_alike() {
        true => (
            format!("The work was declared done {times}, and refused in the same words each time."),
            "the words of the refusal",
        ),
        false => (
            format!("The work was declared done {times}, and continued each time without a change to the project."),
            "nothing was changed between the claims",
        ),
    };
    Wording {
        sentence,
        unchanged: unchanged.to_owned(),
        progress: "a change to the project, or acceptance by a person",
        tips: &[
            "Find out exactly what is not accepted: read the last refusal or check output carefully.",
            "Run the check that decides, and fix what it reports.",
            "If you think it is done and the check is wrong, say so once and stop.",
        ],
        custom_message: None,
    }
}
