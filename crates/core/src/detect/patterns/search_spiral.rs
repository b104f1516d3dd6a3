//! Similar searches that find nothing.

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
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.search_spiral,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    if !found_nothing(call) {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    for other in context.earlier(rule.window) {
        if found_nothing(other) && simhash::similarity(call.sketch, other.sketch) >= rule.similarity() {
            counter.add(other);
        } else if other.is(CallFlags::NEW_CHANGE) || other.is(CallFlags::FIRST_READ) {
            break;
        }
    }
    let action = Digest::from_bytes("search");
    (counter.count > 1).then(|| counter.claim(Strength::VeryWeak, NudgeTarget::Tool(call.tool), action, call.outcome()))
}

fn found_nothing(call: &Call) -> bool {
    call.kind == ToolKind::Search && call.result.is_some() && (call.is(CallFlags::NO_OUTPUT) || call.failed())
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!("{} searches for nearly the same thing found nothing; last: {what}", claim.ran()),
        unchanged: describe_outcome(context),
        progress: "a search that finds something new",
        tips: &[
            "It may not exist under that name: list the directory, or read the file that should use it.",
            "Search for a shorter, rarer word, without a path or type filter.",
            "If it is not there, say so and continue without it.",
        ],
        custom_message: None,
    }
}
