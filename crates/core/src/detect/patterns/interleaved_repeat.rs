//! The same call with the same result; other calls in between changed nothing.

use super::{Pattern, Trigger};
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "interleaved_repeat",
    trigger: Trigger::CallUpdated,
    before_result: true,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.interleaved_repeat,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let repeats = context.repeats()?;
    let call = repeats.latest;
    // Taking edits away again is a part of trying them one by one.
    if repeats.is_consecutive() || call.may_restore_files() {
        return None;
    }
    let idle_round = repeats.recent_new_calls + repeats.recent_checks == 0;
    let strength = match repeats.strength() {
        Strength::Strong if repeats.recent_new_commands > 0 => Strength::Weak,
        Strength::Strong if call.failed() && repeats.new_reads <= 4 => Strength::Strong,
        Strength::Strong if call.failed() => Strength::Weak,
        // A look that still shows the same is normal now and then, unless all others since repeated, too. Checks are
        // repeated in rounds for certainty.
        Strength::Strong if idle_round && repeats.new_reads <= 2 => Strength::Strong,
        Strength::Strong if repeats.recent_new_reads == 0 && repeats.new_reads <= 2 => Strength::Weak,
        // Re-reading while learning something new is normal work.
        _ => Strength::VeryWeak,
    };
    // Something else was done before this round, so it may end differently once it has run.
    let strength = if context.pending { strength.min(Strength::Weak) } else { strength };
    Some(repeats.counter.claim(strength, NudgeTarget::Key(call.key), call.key, call.outcome()))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    let between = match context.repeats().is_some_and(|repeats| repeats.edited) {
        true => "no edit in between was new",
        false => "nothing was changed in between",
    };
    Wording {
        sentence: format!(
            "The same call was made {} with the same result, and {between}: {what}",
            count_phrase(claim.ran())
        ),
        unchanged: describe_outcome(context),
        progress: "a different result, or a change to the project between two tries",
        tips: &[
            "Nothing you did in between affects this result; look for what would.",
            "Write down what the result means, and choose the next step from that.",
            "If you keep coming back here, the plan is missing a step: name it.",
        ],
        custom_message: None,
    }
}
