//! The same attempt in other words: every call differs, and none brings anything new.

use super::{Pattern, Trigger};
use crate::action::ToolKind;
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::{Call, CallFlags};

pub(super) static PATTERN: Pattern = Pattern {
    name: "circling",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.circling,
    detect,
    describe,
};

/// This many calls with new information in between are other work, after which another look at the old question makes sense.
const MAX_NEW_BETWEEN: u32 = 2;

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    // A pair of action and outcome that was seen before is a plain repeat, which has its own patterns.
    let is_new = call.is(CallFlags::NEW_ACTION_OUTCOME);
    if !is_new || !asks(call) || !call.is(CallFlags::NOTHING_NEW) || !context.is_loop_candidate(call) {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    let (mut inputs, mut informative) = (vec![call.key], 0);
    for other in context.earlier(rule.window) {
        if is_progress(other) {
            break;
        }
        // Another number and another output: the values of a range are tried one by one.
        if iterates(call, other) {
            continue;
        }
        if asks(other) && is_same_attempt(call, other, rule.similarity()) {
            if !inputs.contains(&other.key) {
                inputs.push(other.key);
            }
            counter.add(other);
            // The attempt that brought the facts is the first of the circle.
            if !other.is(CallFlags::NOTHING_NEW) {
                break;
            }
        } else if !other.is(CallFlags::NOTHING_NEW) {
            informative += 1;
            if informative > MAX_NEW_BETWEEN {
                break;
            }
        }
    }
    // The same input is a plain repeat, which has its own patterns.
    let varied = inputs.len() * 2 > counter.count as usize;
    let target = if call.changes_file() { NudgeTarget::Target(call.target) } else { NudgeTarget::Tool(call.tool) };
    // Plans are kept up to date in healthy work, too.
    let strength = if call.is(CallFlags::NOTES) { Strength::VeryWeak } else { Strength::Weak };
    (counter.count > 2 && varied)
        .then(|| counter.claim(strength, target, Digest::from_bytes("circling"), call.tool_digest()))
}

/// A call that asks something, or writes notes. Changes and checks have patterns of their own. That a name is not found
/// anywhere is an answer: lists of names are gone through like this.
fn asks(call: &Call) -> bool {
    let finds_nothing = call.succeeded() && call.is(CallFlags::NO_OUTPUT);
    let is_check = call.kind == ToolKind::Shell && call.is(CallFlags::CHECK);
    let asks = call.kind.may_ask() && !is_check && !finds_nothing;
    call.result.is_some() && (call.is(CallFlags::NOTES) || asks && !call.is(CallFlags::MUTATES))
}

/// The same but for numbers, with another result.
fn iterates(call: &Call, other: &Call) -> bool {
    other.skeleton.equals_if_known(call.skeleton) && other.key != call.key && !other.has_same_result(call)
}

/// Nearly the same words, or another edit of the same notes.
fn is_same_attempt(call: &Call, other: &Call, similarity: f32) -> bool {
    match call.is(CallFlags::NOTES) {
        true => other.is(CallFlags::NOTES) && other.target.equals_if_known(call.target),
        false => other.kind == call.kind && call.intent.similarity(other.intent) >= similarity,
    }
}

/// A new change other than of notes, a commit, or another set of failures.
fn is_progress(call: &Call) -> bool {
    let new = call.is(CallFlags::NEW_ACTION_OUTCOME);
    let failing = call.result.as_ref().is_some_and(|result| result.failing.is_some());
    call.is(CallFlags::NEW_CHANGE) && !call.is(CallFlags::NOTES)
        || new && (failing || call.is(CallFlags::PASSED) || call.is(CallFlags::COMMITS))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!("{} attempts in other words brought nothing new; last: {what}", claim.ran()),
        unchanged: describe_outcome(context),
        progress: "an output with something that was not known, or a change to the project",
        tips: &[
            "Write down what these attempts have shown; the answer may be that it is not there.",
            "Ask another question instead of the same one in other words.",
            "Test the most likely explanation with a change, however small.",
        ],
        custom_message: None,
    }
}
