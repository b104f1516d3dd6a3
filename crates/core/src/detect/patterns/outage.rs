//! An external system fails. Not the agent's fault, and not a loop.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "outage",
    trigger: Trigger::Outage,
    before_result: false,
    outlives_edits: true,
    second_look: true,
    rule: |rules| &rules.outage,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let count = context.session.activity().outages;
    (count > 0)
        .then(|| context.session_claim(count, Strength::VeryWeak, Digest::from_bytes("outage"), NudgeTarget::Any))
}

fn describe(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!(
            "An external service failed {} in a row: overload, a limit, or the network.",
            count_phrase(claim.ran())
        ),
        unchanged: "no response from the service".to_owned(),
        progress: "a response",
        tips: &["Wait longer before each retry (`belay wait --until ...`).", "Meanwhile, do what needs no network."],
        custom_message: None,
    }
}
