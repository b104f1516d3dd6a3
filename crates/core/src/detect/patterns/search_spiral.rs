//! Search after search for much the same thing, and nothing found.

use super::{Pattern, Trigger};
use crate::action::ToolKind;
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::{Call, CallFlags};
use crate::simhash;

pub(super) static PATTERN: Pattern = Pattern {
    name: "search_spiral",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.search_spiral,
    look,
    say,
};

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if !in_vain(call) {
        return None;
    }
    let mut tally = BatchCounter::of(call);
    for other in view.earlier(rule.window) {
        if in_vain(other) && simhash::similarity(call.sketch, other.sketch) >= rule.similarity() {
            tally.add(other);
        } else if other.is(CallFlags::NEW_CHANGE) || other.is(CallFlags::FIRST_READ) {
            break;
        }
    }
    let action = Digest::of("search");
    (tally.count > 1).then(|| tally.claim(Strength::VeryWeak, NudgeTarget::Tool(call.tool), action, call.outcome()))
}

/// A search that found nothing, or failed.
fn in_vain(call: &Call) -> bool {
    call.kind == ToolKind::Search && call.answer.is_some() && (call.is(CallFlags::NO_OUTPUT) || call.failed())
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(view);
    Wording {
        sentence: format!("{} searches for much the same thing found nothing; last: {what}", claim.count),
        unchanged: describe_outcome(view),
        progress: "a search that finds something new",
        tips: &[
            "It may not exist under that name: list the folder, or read the file that should use it.",
            "Search for a shorter, rarer word, without a path or type filter.",
            "If it is not there, say so and go on without it.",
        ],
        own: None,
    }
}
