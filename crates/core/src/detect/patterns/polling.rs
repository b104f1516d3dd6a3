//! The agent polls and gets the same result. Not a loop: it waits.

use super::{Pattern, Trigger};
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::format::minutes;
use crate::outcome::CallStatus;
use crate::rules::PatternRule;
use crate::session::CallFlags;
use crate::time::Timestamp;

pub(super) static PATTERN: Pattern = Pattern {
    name: "polling",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: true,
    second_look: true,
    rule: |rules| &rules.polling,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    let polls = call.is(CallFlags::POLL) || call.status() == Some(CallStatus::Running);
    if !polls || call.result.is_none() || call.is_neutral() || context.session.waiting.is_some() {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    for other in context.earlier(rule.window) {
        if other.has_same_action(call) {
            if !other.has_same_result(call) {
                break;
            }
            counter.add(other);
        }
    }
    (counter.count > 1).then(|| counter.claim(Strength::VeryWeak, NudgeTarget::Key(call.key), call.key, call.outcome()))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    let began = context
        .session
        .window()
        .calls()
        .iter()
        .find(|call| call.ordinal == claim.first)
        .map_or(Timestamp::UNKNOWN, |call| call.at);
    let waited = context.session.facts.last_at.saturating_since(began);
    Wording {
        sentence: format!(
            "Polling: checked {} in {} with the same result: {what}",
            count_phrase(claim.ran()),
            minutes(waited)
        ),
        unchanged: describe_outcome(context),
        progress: "a different result, or a declared wait",
        tips: &[
            "Wait without polling: `belay wait --for-command ...`, `--for-file ...` or `--until ...` costs no tokens.",
            "Check whether it is still running before you keep waiting.",
        ],
        custom_message: None,
    }
}
