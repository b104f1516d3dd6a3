//! The same change succeeds repeatedly, which damages the file.

use super::{Pattern, Trigger};
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::rules::PatternRule;
use crate::session::{Call, CallFlags};

pub(super) static PATTERN: Pattern = Pattern {
    name: "repeated_mutation",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: true,
    second_look: true,
    rule: |rules| &rules.repeated_mutation,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    if !call.changes_file() || !call.succeeded() || call.is_neutral() {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    for other in context.earlier(rule.window) {
        if other.succeeded() && other.has_same_action(call) {
            counter.add(other);
        } else if other.changes_file() && other.is(CallFlags::NEW_CHANGE)
            || other.may_restore_files()
            || takes_away(other, call)
        {
            break;
        }
    }
    (counter.count > 1).then(|| counter.claim(Strength::Strong, NudgeTarget::Key(call.key), call.key, call.outcome()))
}

/// Whether another edit took away what this one made.
fn takes_away(other: &Call, edit: &Call) -> bool {
    let opposite = other.before.equals_if_known(edit.after) && other.after == edit.before;
    // What is written as a whole is gone after any other edit.
    let removes = opposite || other.is(CallFlags::OVERWRITES) || edit.is(CallFlags::OVERWRITES) && other.changes_file();
    // What a watcher saw may be this very edit.
    let edits = other.succeeded() && !other.is(CallFlags::EXTERNAL);
    edits && removes && other.target.equals_if_known(edit.target)
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!("Exactly the same change was made {}: {what}", count_phrase(claim.ran())),
        unchanged: describe_outcome(context),
        progress: "a change not made before",
        tips: &[
            "It is already in the file, maybe more than once: read the file and remove the copies.",
            "If it does not have the intended effect, the change is in the wrong place.",
        ],
        custom_message: None,
    }
}
