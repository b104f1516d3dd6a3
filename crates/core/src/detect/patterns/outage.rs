//! Something outside does not answer. Not the agent's fault, and never a circle.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "outage",
    trigger: Trigger::Outage,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.outage,
    look,
    say,
};

fn look(view: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let count = view.session.activity().outages;
    (count > 0).then(|| view.session_claim(count, Strength::VeryWeak, Digest::of("outage"), NudgeTarget::Any))
}

fn say(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!(
            "Something outside failed {} in a row: overload, a limit, or the network.",
            count_phrase(claim.count)
        ),
        unchanged: "no answer from outside".to_owned(),
        progress: "an answer",
        tips: &["Wait a little longer each time (`belay wait --until ...`).", "Do what needs no network meanwhile."],
        own: None,
    }
}
