//! The same call, answered the same way, with other calls in between but nothing changed by them.

use super::{Pattern, Trigger};
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "interleaved_repeat",
    trigger: Trigger::Answered,
    ahead: true,
    outlives_edits: false,
    rule: |rules| &rules.interleaved_repeat,
    look,
    say,
};

fn look(view: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let repeats = view.repeats()?;
    if repeats.between == 0 {
        return None;
    }
    let call = repeats.answered;
    let strength = match repeats.strength() {
        Strength::Strong if repeats.efforts_lately > 0 => Strength::Weak,
        Strength::Strong if call.failed() && repeats.sights <= 4 => Strength::Strong,
        Strength::Strong if repeats.sights_lately == 0 && repeats.sights <= 2 => Strength::Strong,
        Strength::Strong if call.failed() || repeats.sights <= 2 => Strength::Weak,
        // Looking something up again while learning new things is how people work, too.
        _ => Strength::VeryWeak,
    };
    Some(repeats.tally.claim(strength, NudgeTarget::Key(call.key), call.key, call.outcome()))
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(view);
    Wording {
        sentence: format!(
            "The same call was made {} with the same result, and nothing was changed in between: {what}",
            count_phrase(claim.count)
        ),
        unchanged: describe_outcome(view),
        progress: "a different result, or a change to the project between two tries",
        tips: &[
            "Nothing you did in between affects this result; look for what would.",
            "Write down what the result tells you, and decide on the next step from that.",
            "If you keep coming back here, the plan is missing a step: name it.",
        ],
        own: None,
    }
}
