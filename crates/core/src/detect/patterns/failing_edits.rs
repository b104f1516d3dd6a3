//! Edits of one file that keep failing for one cause, whatever text is tried.

use super::{Pattern, Trigger};
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::outcome::CallStatus;
use crate::rules::PatternRule;
use crate::session::{Call, CallFlags};

pub(super) static PATTERN: Pattern = Pattern {
    name: "failing_edits",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.failing_edits,
    look,
    say,
};

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if !fails(call) || !is_loop_candidate(call) {
        return None;
    }
    let mut tally = BatchCounter::of(call);
    // Who looks at the place anew between two tries learns something; who just tries does not.
    let (mut sights, mut sights_since) = (0, 0);
    for other in view.earlier(rule.window) {
        if !other.edits() || !other.target.matches_digest(call.target) {
            sights_since += u32::from(other.is(CallFlags::FIRST_READ));
            continue;
        }
        if fails(other) {
            if other.family() == call.family() {
                tally.add(other);
                sights += std::mem::take(&mut sights_since);
            }
        } else if other.is(CallFlags::NEW_CHANGE) {
            break;
        }
    }
    let strength = if sights == 0 { Strength::Strong } else { Strength::Weak };
    let matcher = if call.target.is_some() { NudgeTarget::Target(call.target) } else { NudgeTarget::Tool(call.tool) };
    let action = call.target_digest();
    (tally.count > 1).then(|| tally.claim(strength, matcher, action, call.family_digest()))
}

fn fails(call: &Call) -> bool {
    call.edits() && matches!(call.status(), Some(CallStatus::Error | CallStatus::TimedOut))
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(view);
    Wording {
        sentence: format!("Edits of the same file failed {} for the same reason: {what}", count_phrase(claim.count)),
        unchanged: describe_outcome(view),
        progress: "an edit that is accepted, or one that fails for another reason",
        tips: &[
            "Read the exact lines you want to change again, then copy them byte for byte (mind indentation and tabs).",
            "Make the piece smaller, or add lines around it until it is unique.",
            "If it still does not fit, write the whole function or file anew instead.",
        ],
        own: None,
    }
}
