//! Edits that do not change the result of the test.

use super::{Pattern, Trigger};
use crate::action::ToolKind;
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::rules::PatternRule;
use crate::session::{Call, CallFlags};

pub(super) static PATTERN: Pattern = Pattern {
    name: "ineffective_fix",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: true,
    second_look: true,
    rule: |rules| &rules.ineffective_fix,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    let is_command = call.kind == ToolKind::Shell || call.is(CallFlags::CHECK);
    let passed = call.is(CallFlags::PASSED) && says_success(call);
    let inconclusive = call.is(CallFlags::READ_ONLY) || call.is(CallFlags::NO_OUTPUT) || passed;
    if !is_command || !is_loop_candidate(call) || inconclusive {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    // An unchanged result alone proves nothing; there must have been changes in between.
    let (mut changes, mut changed) = (0, 0);
    let mut same_text = true;
    let (mut elsewhere, mut edited_itself) = (call.target.is_some(), false);
    for other in context.earlier(rule.window) {
        if other.has_same_action(call) {
            if !unchanged(other, call) {
                break;
            }
            let after_change = changed > 0;
            // A program that succeeds is run again for other reasons, too; such a run says nothing either way.
            if after_change || call.failed() {
                counter.add(other);
            }
            same_text &= other.has_same_result(call);
            changes += std::mem::take(&mut changed);
            elsewhere &= !std::mem::take(&mut edited_itself);
        } else {
            changed += u32::from(other.is(CallFlags::NEW_CHANGE));
            edited_itself |= other.is(CallFlags::NEW_CHANGE) && other.target.equals_if_known(call.target);
        }
    }
    // An unchanged success is how most programs look. It says something if the program is a script that shows the
    // problem: it stays as it is, and something else is changed.
    let enough_changes = changes > 0 && (call.failed() || elsewhere);
    if counter.count < 2 || !enough_changes {
        return None;
    }
    // Other text means that the changes had an effect: a value that is printed, an error that moved.
    let strength = if call.failed() && same_text { Strength::Weak } else { Strength::VeryWeak };
    Some(counter.claim(strength, NudgeTarget::Key(call.key), call.key, call.outcome()))
}

/// Whether a check that exited with 0 says that all is well. A script that only prints values leaves it to the reader.
fn says_success(call: &Call) -> bool {
    const SUCCESS_WORDS: &[&str] = &[
        "pass", "ok", "success", "0 err", "no err", "0 issue", "no issue", "valid", "done", "complete", "finish",
        "\u{2713}",
    ];
    let summary = call.result.as_ref().map(|result| result.summary.to_lowercase()).unwrap_or_default();
    let succeeds = || SUCCESS_WORDS.iter().any(|word| summary.contains(word));
    summary.is_empty() || !says_failure(&summary) && succeeds()
}

/// Whether a text in lower case names a failure, other than to say that there is none. It outranks what else the text
/// says: "3 checks done, 1 FAILED".
fn says_failure(text: &str) -> bool {
    const FAILURE_WORDS: &[&str] = &["fail", "with problems", "with errors", "not ok", "traceback", "mismatch"];
    let denied = |at: usize| {
        let before = text[..at].trim_end();
        [" 0", " no", "without", "zero"].iter().any(|word| before.ends_with(word)) || matches!(before, "0" | "no")
    };
    FAILURE_WORDS.iter().any(|word| text.match_indices(word).any(|(at, _)| !denied(at)))
}

/// Equal failure messages regardless of positions; without any, equal output.
fn unchanged(a: &Call, b: &Call) -> bool {
    let (Some(mine), Some(theirs)) = (&a.result, &b.result) else { return false };
    let same_failure = || {
        a.failed()
            && mine.failure.equals_if_known(theirs.failure)
            && mine.failing == theirs.failing
            && !mine.moved_on_from(theirs)
            && mine.has_comparable_length(theirs)
    };
    mine.status == theirs.status && (mine.digest == theirs.digest || same_failure())
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!("This had the same result {}, despite changes in between: {what}", count_phrase(claim.ran())),
        unchanged: describe_outcome(context),
        progress: "fewer or different failures, or a different error",
        tips: &[
            "Your edits do not reach the cause: check that the code you change is the code that runs.",
            "Go back to the last state that made sense and look at the failure again, with a print or a debugger.",
            "Write down two other explanations and test the cheaper one first.",
        ],
        custom_message: None,
    }
}
