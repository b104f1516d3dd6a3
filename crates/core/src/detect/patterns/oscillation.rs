//! The same edits of a file, made and reverted repeatedly.

use super::{Pattern, Trigger};
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::describe_call;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::{Call, CallFlags};

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
    // The edits of the file, newest first, each with the first check after it.
    let mut edits: Vec<(&Call, Option<&Call>)> = Vec::new();
    let mut check = None;
    for other in context.earlier(rule.window).take_while(|other| !other.may_restore_files()) {
        if changes(other) && other.target == call.target {
            edits.push((other, check));
        } else if other.is_check_of_change() {
            check = Some(other);
        }
    }
    let earlier = |at: usize, edit: &Call| edits[at..].iter().find(|(before, _)| edit.has_same_action(before));
    earlier(0, call)?;
    let mut counter = BatchCounter::new(call);
    let mut oldest = call;
    for (at, (edit, check)) in edits.iter().enumerate() {
        // Taking a fix out and putting it back is how tests are verified; what counts is that nothing comes of it.
        if earlier(at + 1, edit).is_some_and(|(_, before)| shows_nothing_new(*check, *before)) {
            counter.add(edit);
            oldest = edit;
        }
    }
    // Include the original edit that was returned to.
    if let Some((first, _)) = edits.iter().rev().find(|(edit, _)| oldest.has_same_action(edit)) {
        counter.add(first);
    }
    let reverted = Digest::from_bytes("there and back");
    Some(counter.claim(Strength::Weak, NudgeTarget::Target(call.target), call.target_digest(), reverted))
}

/// Whether a return to an earlier version was not checked, or the same check had the same result as before.
pub(super) fn shows_nothing_new(check: Option<&Call>, before: Option<&Call>) -> bool {
    match (check, before) {
        (None, _) => true,
        (Some(now), Some(then)) => now.has_same_action(then) && (now.has_same_result(then) || now.fails_same_way(then)),
        (Some(_), None) => false,
    }
}

/// An edit that was accepted. What a watcher saw may be the same one.
fn changes(call: &Call) -> bool {
    call.changes_file() && call.succeeded() && !call.is(CallFlags::EXTERNAL)
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
