//! Something outside does not answer. Not the agent's fault, and never a circle.

use super::{Pattern, Trigger};
use crate::detect::words::times;
use crate::detect::{Claim, Matcher, Strength, View, Words};
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

fn look(view: &View<'_>, _: &PatternRule) -> Option<Claim> {
    let count = view.session.pace().outages;
    (count > 0).then(|| view.of_session(count, Strength::Faint, Digest::of("outage"), Matcher::Any))
}

fn say(_: &View<'_>, claim: &Claim) -> Words {
    Words {
        sentence: format!(
            "Something outside failed {} in a row: overload, a limit, or the network.",
            times(claim.count)
        ),
        unchanged: "no answer from outside".to_owned(),
        progress: "an answer",
        tips: &["Wait a little longer each time (`belay wait --until ...`).", "Do what needs no network meanwhile."],
        own: None,
    }
}
