//! Few calls produce anything new, and nothing is changed.

use super::{Pattern, Trigger};
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "revisiting",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.revisiting,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    if !context.is_loop_candidate(call) || call.is(CallFlags::NEW_ACTION_OUTCOME) || call.is(CallFlags::PASSED) {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    let mut seen = 1;
    for other in context.earlier(rule.window).filter(|other| is_loop_candidate(other)) {
        // An accepted edit is a change, also if it was made before.
        let edits = other.edits() && other.succeeded() && !other.is(CallFlags::EXTERNAL);
        if other.is(CallFlags::NEW_CHANGE) || edits {
            break;
        }
        seen += 1;
        if !other.is(CallFlags::NEW_ACTION_OUTCOME) && !other.is(CallFlags::PASSED) && !other.is_terse() {
            counter.add(other);
        }
    }
    let enough = seen as usize >= rule.window;
    enough.then(|| counter.claim(Strength::Weak, NudgeTarget::Any, Digest::from_bytes("revisiting"), Digest(0)))
}

fn describe(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!(
            "{} of the last calls only repeated what was already known, and nothing was changed.",
            claim.ran()
        ),
        unchanged: "what is known".to_owned(),
        progress: "a file or range not read before, or a change to the project",
        tips: &[
            "State in two sentences what you know and what exactly is missing.",
            "Decide: make the change you think is right and test it, or ask.",
        ],
        custom_message: None,
    }
}
