//! Patterns of one's own.

use super::call_context::BatchCounter;
use super::wording::{count_phrase, describe_call, describe_outcome};
use super::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::{CompiledPattern, CustomPattern, EvaluateAt, GroupBy};
use crate::session::Call;

/// The claim of the custom pattern at this position.
pub(crate) fn evaluate(
    view: &CallContext<'_>,
    at: usize,
    pattern: &CustomPattern,
    ready: &CompiledPattern,
) -> Option<Claim> {
    let call = view.call()?;
    // One that can be decided before is decided then, and only then.
    if view.asked != (ready.asked == EvaluateAt::Before) {
        return None;
    }
    let matches = |call: &Call| call.custom >> at & 1 == 1 && (view.asked || call.answer.is_some());
    if !matches(call) || call.is_neutral() {
        return None;
    }
    let mut tally = BatchCounter::of(call);
    for other in view.earlier(pattern.window.saturating_sub(1)).filter(|other| other.custom >> at & 1 == 1) {
        let same = match pattern.same {
            GroupBy::Nothing => true,
            GroupBy::Action => other.has_same_action(call),
            GroupBy::Outcome => other.has_same_action(call) && other.has_same_result(call),
        };
        if same {
            tally.add(other);
        }
    }
    let action = Digest::of_parts([b"custom", pattern.name.as_bytes()]);
    let matcher = match pattern.same {
        GroupBy::Nothing => NudgeTarget::Tool(call.tool),
        GroupBy::Action | GroupBy::Outcome => NudgeTarget::Key(call.key),
    };
    let matcher = if view.asked { NudgeTarget::Key(call.key) } else { matcher };
    let outcome = if pattern.same == GroupBy::Nothing { Digest(0) } else { call.outcome() };
    (tally.count >= pattern.threshold).then(|| tally.claim(Strength::Strong, matcher, action, outcome))
}

pub(crate) fn wording(view: &CallContext<'_>, claim: &Claim, pattern: &CustomPattern) -> Wording {
    let what = describe_call(view);
    let target = what.trim_matches(['`', '.']);
    let message = pattern.message.replace("{target}", target).replace("{count}", &claim.count.to_string());
    Wording {
        sentence: format!("The pattern `{}` was seen {}; last: {what}", pattern.name, count_phrase(claim.count)),
        unchanged: describe_outcome(view),
        progress: "calls that do not match the pattern",
        tips: &[],
        own: Some(message.replace("{threshold}", &pattern.threshold.to_string())),
    }
}
