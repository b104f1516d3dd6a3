//! Edits of one file that keep failing for one cause, regardless of their text.

use super::{Pattern, Trigger};
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::outcome::CallStatus;
use crate::rules::PatternRule;
use crate::session::{Call, CallFlags};
use crate::simhash;

pub(super) static PATTERN: Pattern = Pattern {
    name: "failing_edits",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.failing_edits,
    detect,
    describe,
};

/// Edits this similar to each other are the same attempt.
const SAME_ATTEMPT_SIMILARITY: f32 = 0.9;
/// So many failures in a row are a finding of their own, whatever came before.
const MIN_CONSECUTIVE: u32 = 3;

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    if !fails(call) || !is_loop_candidate(call) {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    // Reading the file between two attempts adds information.
    let (mut new_reads, mut pending_reads) = (0, 0);
    let (mut accepted, mut accepted_between, mut same_attempt) = (false, false, true);
    // The very same attempt twice, with nothing read in between, is not another approach.
    let (mut previous, mut unread_repeat) = (call, false);
    let (mut identical, mut same_reason) = (true, true);
    for other in context.earlier(rule.window) {
        // The path of a file may be written in several ways, its name is not.
        let same_file = other.target.is_compatible_with(call.target)
            || other.shape.equals_if_known(call.shape) && other.has_same_result(call);
        if !other.edits() || !same_file {
            pending_reads += u32::from(other.is(CallFlags::FIRST_READ));
        } else if !fails(other) {
            if other.is(CallFlags::NEW_CHANGE) && !accepted && counter.count >= MIN_CONSECUTIVE {
                break;
            }
            // An accepted edit shows that edits work, so only the very same failure counts before it.
            accepted |= other.is(CallFlags::NEW_CHANGE);
        } else if other.fails_same_way(call)
            || !accepted && other.family().equals_if_known(call.family())
            || !accepted && fails_nearby(other, call)
        {
            counter.add(other);
            unread_repeat |= pending_reads == 0 && is_same_attempt(other, previous);
            identical &= other.has_same_action(call);
            same_reason &= other.fails_same_way(call) || other.family().equals_if_known(call.family());
            previous = other;
            new_reads += std::mem::take(&mut pending_reads);
            accepted_between |= accepted;
            same_attempt &= simhash::similarity(other.sketch, call.sketch) >= SAME_ATTEMPT_SIMILARITY;
        }
    }
    let strength = match (accepted_between, unread_repeat || same_attempt && new_reads == 0) {
        // Other edits do not make a failing one another, byte for byte.
        (true, _) if identical => Strength::Weak,
        (true, _) => Strength::VeryWeak,
        (false, true) if same_reason => Strength::Strong,
        // Other text after another look is another approach, until it fails once more.
        (false, _) => Strength::Weak,
    };
    let nudge_target =
        if call.target.is_some() { NudgeTarget::Target(call.target) } else { NudgeTarget::Tool(call.tool) };
    let action = call.target_digest();
    let outcome = if same_reason { call.family_digest() } else { several_reasons() };
    (counter.count > 1).then(|| counter.claim(strength, nudge_target, action, outcome))
}

/// The outcome of failures for different reasons: nothing is edited.
fn several_reasons() -> Digest {
    Digest::from_bytes("several reasons")
}

/// How many calls apart two failures for different reasons may be.
const MAX_DISTANCE: u64 = 12;

/// Another failed edit of the same file a short while ago, whatever the reason was: nothing has been edited since.
fn fails_nearby(other: &Call, call: &Call) -> bool {
    other.target.equals_if_known(call.target) && call.ordinal.saturating_sub(other.ordinal) <= MAX_DISTANCE
}

/// The same text, at whatever line.
fn is_same_attempt(a: &Call, b: &Call) -> bool {
    a.has_same_action(b) || a.skeleton.equals_if_known(b.skeleton)
}

/// An edit that was not accepted. One that reports failing tests was.
fn fails(call: &Call) -> bool {
    let tested = call.result.as_ref().is_some_and(|result| result.failing.is_some());
    call.edits() && !tested && matches!(call.status(), Some(CallStatus::Error | CallStatus::TimedOut))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: match claim.outcome == several_reasons() {
            true => {
                format!("Edits of one file failed {}, for several reasons; last: {what}", count_phrase(claim.ran()))
            }
            false => format!("Edits failed {} for the same reason; last: {what}", count_phrase(claim.ran())),
        },
        unchanged: describe_outcome(context),
        progress: "an edit that is accepted, or one that fails for another reason",
        tips: &[
            "Read the exact lines you want to change again, then copy them byte for byte (mind indentation and tabs).",
            "Make the edited text smaller, or add surrounding lines until it is unique.",
            "If it still does not match, rewrite the whole function or file instead.",
        ],
        custom_message: None,
    }
}
