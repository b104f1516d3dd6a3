//! The same edits of a file, made and reverted repeatedly.

use super::{Pattern, Trigger};
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::describe_call;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::Call;

pub(super) static PATTERN: Pattern = Pattern {
    name: "oscillation",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: true,
    second_look: true,
    rule: |rules| &rules.oscillation,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    if !changes(call) || !call.target.is_some() || call.is_neutral() {
        return None;
    }
    let edits: Vec<&Call> = context
        .earlier(rule.window)
        .take_while(|other| !other.may_restore_files())
        .filter(|other| changes(other) && other.target == call.target)
        .collect();
    // Breaking and restoring something once is how tests are verified; doing so again is not.
    let repeats_earlier = |at: usize, edit: &Call| edits[at..].iter().any(|before| edit.has_same_action(before));
    if !repeats_earlier(0, call) {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    let mut oldest = call;
    for (at, edit) in edits.iter().enumerate() {
        if repeats_earlier(at + 1, edit) {
            counter.add(edit);
            oldest = edit;
        }
    }
    // Include the original edit that was returned to.
    if let Some(first) = edits.iter().rev().find(|edit| oldest.has_same_action(edit)) {
        counter.add(first);
    }
    let reverted = Digest::of("there and back");
    Some(counter.claim(Strength::Weak, NudgeTarget::Target(call.target), call.target_digest(), reverted))
}

fn changes(call: &Call) -> bool {
    call.changes_file() && call.succeeded()
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!("The same edits of one file were repeated, {} so far; last: {what}", claim.ran()),
        unchanged: "the file alternates between the same versions".to_owned(),
        progress: "content the file has not had before",
        tips: &[
            "Neither version is right: state what each of the two breaks, and look for a third.",
            "Read the whole file once before the next edit.",
        ],
        custom_message: None,
    }
}
