//! Calls that differ only in numbers and indentation, with the same result; reads of lines that are known.

use super::{Pattern, Trigger};
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "near_repeat",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.near_repeat,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    other_numbers(context, rule).or_else(|| known_lines(context, rule))
}

/// Reads of one file whose ranges contain each other, after the read that showed these lines.
fn known_lines(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    let lines = call.lines.filter(|_| call.is(CallFlags::KNOWN_LINES) && context.is_loop_candidate(call))?;
    let mut counter = BatchCounter::new(call);
    let mut varied = false;
    for other in context.earlier(rule.window) {
        if other.may_change_files() {
            break;
        }
        let Some(shown) = other.lines.filter(|_| other.target.equals_if_known(call.target)) else { continue };
        if !(shown.contains(lines) || lines.contains(shown)) {
            continue;
        }
        varied |= other.key != call.key;
        counter.add(other);
        // The read that showed them is the first of the series.
        if !other.is(CallFlags::KNOWN_LINES) {
            break;
        }
    }
    let (action, outcome) = (call.target_digest(), known_content());
    let claim = || counter.claim(Strength::Weak, NudgeTarget::Lines(call.target), action, outcome);
    (counter.count > 1 && varied).then(claim)
}

/// The outcome of reads that show nothing but known lines.
fn known_content() -> Digest {
    Digest::from_bytes("known lines")
}

fn other_numbers(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    // Failing edits have their own pattern, and an accepted change is progress, however similar the next one
    // is.
    let accepted = call.succeeded() && (call.is(CallFlags::MUTATES) || call.is(CallFlags::PASSED));
    // A linter answers by its exit code: the same finding in another file is another answer.
    let accepted = accepted || call.is(CallFlags::LINTS);
    if !context.is_loop_candidate(call) || !call.skeleton.is_some() || call.is_terse() || accepted || call.edits() {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    let mut varied = false;
    for other in context.earlier(rule.window) {
        if other.skeleton.equals_if_known(call.skeleton)
            && other.place.is_compatible_with(call.place)
            && other.target.is_compatible_with(call.target)
            && other.kind == call.kind
        {
            if !other.has_same_result(call) {
                break;
            }
            varied |= other.key != call.key;
            counter.add(other);
        } else if other.is(CallFlags::NEW_CHANGE) {
            break;
        }
    }
    let strength = match call.target.is_some() && call.is(CallFlags::READ_ONLY) {
        _ if call.failed() => Strength::Strong,
        // Another part of the same file.
        true => Strength::Weak,
        // Other numbers often name other things, such as hosts or issues, which may well be alike.
        false => Strength::VeryWeak,
    };
    let nudge_target = NudgeTarget::Key(call.key);
    (counter.count > 1 && varied).then(|| counter.claim(strength, nudge_target, call.key, call.outcome()))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    if claim.outcome == known_content() {
        return Wording {
            sentence: format!(
                "The same lines of a file were read {}, in other ranges; last: {what}",
                count_phrase(claim.ran())
            ),
            unchanged: "the lines, which an earlier read has shown".to_owned(),
            progress: "lines not read before, or a change to the file",
            tips: &[
                "The earlier output still holds: use it instead of reading the lines again.",
                "Say what you are looking for, and search for that.",
            ],
            custom_message: None,
        };
    }
    Wording {
        sentence: format!(
            "Nearly the same call (only numbers or indentation differ) was made {} with the same result: {what}",
            count_phrase(claim.ran())
        ),
        unchanged: describe_outcome(context),
        progress: "a different result",
        tips: &[
            "The numbers you vary do not matter to this result; find out what does.",
            "Read the location itself instead of guessing line numbers or offsets.",
        ],
        custom_message: None,
    }
}
