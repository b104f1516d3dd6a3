//! One tool with varied input always has the same result: a failure, or the same long text.

use super::{Pattern, Trigger};
use crate::action::ToolKind;
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::outcome::CallStatus;
use crate::rules::PatternRule;
use crate::session::CallFlags;

pub(super) static PATTERN: Pattern = Pattern {
    name: "same_outcome",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: true,
    second_look: true,
    rule: |rules| &rules.same_outcome,
    detect,
    describe,
};

/// A text of this length that stays the same for other input says more than "ok".
const MIN_LONG_BYTES: u32 = 100;

/// More first reads than this between the attempts are work of their own.
const MAX_READS_BETWEEN: u32 = 2;

/// What an edit says beyond this length is a report, such as why the edit was not good enough.
const MIN_REPORT_BYTES: u32 = 400;

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    let result = call.result.as_ref()?;
    // A linter answers by its exit code: the same finding in another file is another answer.
    let answered = call.is(CallFlags::READ_ONLY) || call.is(CallFlags::LINTS);
    let failed = result.status == CallStatus::Error && !answered;
    // An accepted change is confirmed in the same words each time. A report is longer than that. A shell runs any
    // program, so that it is the same tool says nothing.
    let confirms = call.is(CallFlags::MUTATES) && !(call.edits() && result.len >= MIN_REPORT_BYTES);
    let answers = !confirms && !call.is(CallFlags::CHECK) && call.kind != ToolKind::Shell;
    let long = result.status == CallStatus::Ok && result.len >= MIN_LONG_BYTES && answers;
    if !(failed || long) || !context.is_loop_candidate(call) || call.is(CallFlags::NO_OUTPUT) {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    let (mut inputs, mut changed) = (vec![call.key], false);
    // First reads since the previous occurrence and since the first one.
    let (mut recent_reads, mut reads, mut gap) = (0, 0, 0);
    for other in context.earlier(rule.window) {
        // The same text in several places is what a comparison of them finds.
        let same_place = failed || other.target.is_compatible_with(call.target);
        if other.tool == call.tool && same_place && other.has_same_result(call) {
            if !inputs.contains(&other.key) {
                inputs.push(other.key);
            }
            if counter.count == 1 {
                recent_reads = gap;
            }
            reads += std::mem::take(&mut gap);
            counter.add(other);
        } else if other.is(CallFlags::NEW_CHANGE) {
            // The change did not help, which weakens a failure and makes another look worthwhile.
            // An edit between reports of edits is one more attempt.
            let attempt = long && call.edits() && other.tool == call.tool;
            if !attempt && (!failed || call.edits()) {
                break;
            }
            changed = true;
        } else {
            gap += u32::from(other.is(CallFlags::FIRST_READ));
        }
    }
    // The same input is a plain repeat, which has its own patterns.
    let varied = if failed { inputs.len() > 1 } else { inputs.len() * 2 > counter.count as usize };
    // A tool that gives the same text for any input is tried again while the agent learns elsewhere.
    let learns = !failed && (recent_reads > 0 || reads > MAX_READS_BETWEEN);
    // A tool that nobody knows may confirm an effect in many words.
    let known = failed || call.edits() || call.is(CallFlags::READ_ONLY);
    let strength = if changed || learns || !known { Strength::VeryWeak } else { Strength::Weak };
    let action = call.tool_digest();
    (counter.count > 1 && varied).then(|| counter.claim(strength, NudgeTarget::Tool(call.tool), action, call.outcome()))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!("{} different attempts had exactly the same result; last: {what}", claim.ran()),
        unchanged: describe_outcome(context),
        progress: "a different result",
        tips: &[
            "What you vary does not cause this: stop varying it and look elsewhere.",
            "Take the message literally and check the one thing it names.",
            "Try another tool or another way to the same end.",
        ],
        custom_message: None,
    }
}
