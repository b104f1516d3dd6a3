//! Asking again and again whether something is ready, with the same answer. Not a circle: it waits.

use super::{Pattern, Trigger};
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{count_phrase, describe_call, describe_outcome, minutes};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::outcome::CallStatus;
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "poll",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.poll,
    look,
    say,
};

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    let polls = call.is(CallFlags::POLL) || call.status() == Some(CallStatus::Running);
    if !polls || call.answer.is_none() || call.is_neutral() || view.session.waiting.is_some() {
        return None;
    }
    let mut tally = BatchCounter::of(call);
    for other in view.earlier(rule.window) {
        if other.has_same_action(call) {
            if !other.has_same_result(call) {
                break;
            }
            tally.add(other);
        }
    }
    (tally.count > 1).then(|| tally.claim(Strength::VeryWeak, NudgeTarget::Key(call.key), call.key, call.outcome()))
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(view);
    let began = view
        .session
        .window()
        .calls()
        .iter()
        .find(|call| call.ordinal == claim.first)
        .map_or(0, |call| call.at.millis());
    let millis = view.session.facts.last_at.millis().saturating_sub(began).unsigned_abs();
    Wording {
        sentence: format!(
            "It waits: asked {} in {} whether something is ready, with the same answer: {what}",
            count_phrase(claim.count),
            minutes(millis)
        ),
        unchanged: describe_outcome(view),
        progress: "another answer, or a declared wait",
        tips: &[
            "Wait without asking: `belay wait --for-command ...`, `--for-file ...` or `--until ...` costs no tokens.",
            "Find out whether it still runs at all before you wait on.",
        ],
        own: None,
    }
}
