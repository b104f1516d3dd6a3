//! Turn after turn without a tool call, whatever is said: the agent is kept going and does nothing.

use super::{Pattern, Trigger};
use crate::detect::words::times;
use crate::detect::{Claim, Strength, View, Words};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "spin",
    trigger: Trigger::Said,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.spin,
    look,
    say,
};

fn look(view: &View<'_>, _: &PatternRule) -> Option<Claim> {
    let count = view.session.talk().idle_answers;
    (count > 1).then(|| view.between_calls(count, Strength::Strong, Digest::of("idle")))
}

fn say(_: &View<'_>, claim: &Claim) -> Words {
    Words {
        sentence: format!(
            "The model answered {} in a row without calling a tool, and nobody asked it anything.",
            times(claim.count)
        ),
        unchanged: "nothing is done between the answers".to_owned(),
        progress: "a tool call, or a person's turn",
        tips: &[
            "If you wait for something, declare it (`belay wait --for-command ...`) instead of answering again and again.",
            "If the goal is reached or cannot be reached, say so and end the turn.",
            "Otherwise take the next step with a tool, now.",
        ],
        own: None,
    }
}
