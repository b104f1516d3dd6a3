//! The person makes the same complaint again, though the agent has answered each time. For the person, not the agent.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "person_repeats",
    trigger: Trigger::PersonPrompted,
    before_result: false,
    outlives_edits: true,
    second_look: true,
    rule: |rules| &rules.person_repeats,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let complaint = context.session.complaints().repeated()?;
    let claim = context.session_claim(complaint.count, Strength::Strong, complaint.digest(), NudgeTarget::Any);
    Some(Claim { first: complaint.first, outcome: Digest::from_bytes("the same complaint"), ..claim })
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let text = context.session.complaints().repeated().map_or("", |complaint| &complaint.text);
    Wording {
        sentence: format!(
            "The person reported the same problem {}, and the answers have not settled it: \"{text}\"",
            count_phrase(claim.count)
        ),
        unchanged: "what the person reports".to_owned(),
        progress: "another report, or none",
        tips: &[
            "Start a fresh session with a summary of what was tried; this one repeats its assumptions.",
            "Ask for a test that fails with this report before the next fix.",
            "Try another model.",
        ],
        custom_message: None,
    }
}
