//! Evaluates user-defined patterns.

use super::call_context::BatchCounter;
use super::wording::{count_phrase, describe_call, describe_outcome};
use super::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::{CompiledPattern, CustomPattern, EvaluateAt, GroupBy};
use crate::session::Call;

/// Evaluates the custom pattern at this index.
pub(crate) fn evaluate(
    context: &CallContext<'_>,
    at: usize,
    pattern: &CustomPattern,
    compiled: &CompiledPattern,
) -> Option<Claim> {
    let call = context.call()?;
    // A pattern that can be decided before the result is evaluated only then.
    if context.pending != (compiled.evaluate_at == EvaluateAt::Before) {
        return None;
    }
    let matches = |call: &Call| call.custom >> at & 1 == 1 && (context.pending || call.result.is_some());
    if !matches(call) || call.is_neutral() {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    for other in context.earlier(pattern.window.saturating_sub(1)).filter(|other| other.custom >> at & 1 == 1) {
        let same = match pattern.same {
            GroupBy::Nothing => true,
            GroupBy::Action => other.has_same_action(call),
            GroupBy::Outcome => other.has_same_action(call) && other.has_same_result(call),
        };
        if same {
            counter.add(other);
        }
    }
    let action = Digest::of_parts([b"custom", pattern.name.as_bytes()]);
    let nudge_target = match pattern.same {
        GroupBy::Nothing => NudgeTarget::Tool(call.tool),
        GroupBy::Action | GroupBy::Outcome => NudgeTarget::Key(call.key),
    };
    let nudge_target = if context.pending { NudgeTarget::Key(call.key) } else { nudge_target };
    let outcome = if pattern.same == GroupBy::Nothing { Digest(0) } else { call.outcome() };
    (counter.count >= pattern.threshold).then(|| counter.claim(Strength::Strong, nudge_target, action, outcome))
}

pub(crate) fn wording(context: &CallContext<'_>, claim: &Claim, pattern: &CustomPattern) -> Wording {
    let what = describe_call(context);
    let target = what.trim_matches(['`', '.']);
    let message = pattern.message.replace("{target}", target).replace("{count}", &claim.count.to_string());
    Wording {
        sentence: format!("The pattern `{}` was seen {}; last: {what}", pattern.name, count_phrase(claim.count)),
        unchanged: describe_outcome(context),
        progress: "calls that do not match the pattern",
        tips: &[],
        custom_message: Some(message.replace("{threshold}", &pattern.threshold.to_string())),
    }
}
