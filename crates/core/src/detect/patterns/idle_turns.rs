//! Turn after turn without a tool call, whatever is said: the agent is kept going and does nothing.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, Strength, Wording};
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

fn look(view: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let count = view.session.dialogue().idle_answers;
    (count > 1).then(|| view.turn_claim(count, Strength::Strong, Digest::of("idle")))
}

fn say(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!(
            "The model answered {} in a row without calling a tool, and nobody asked it anything.",
            count_phrase(claim.count)
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
