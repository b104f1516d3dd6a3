//! A sequence of two to eight different calls that repeats with the same results.

use super::{Pattern, Trigger};
use crate::action::ToolKind;
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::{Call, CallFlags};

pub(super) static PATTERN: Pattern = Pattern {
    name: "cycle",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: false,
    second_look: true,
    rule: |rules| &rules.cycle,
    detect,
    describe,
};

/// Maximum length of a sequence in calls.
const MAX_PERIOD: usize = 8;

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    // Refusals may go round whatever the input is.
    if !context.is_loop_candidate(call) || call.is(CallFlags::NEW_ACTION_OUTCOME) && !call.failed() {
        return None;
    }
    // A period must be a distance at which this step occurred before.
    let mut distances =
        context.earlier(MAX_PERIOD).enumerate().filter(|(_, other)| is_same_step(call, other)).map(|(at, _)| at + 1);
    let nearest = distances.next()?;
    let mut calls: Vec<&Call> = Vec::with_capacity(rule.window + 1);
    calls.push(call);
    calls.extend(context.earlier(rule.window));
    let periods = std::iter::once(nearest).chain(distances).filter(|period| *period >= 2);
    // Prefer the period with the most repetitions, which is the shortest.
    let (period, repetitions) = periods
        .filter_map(|period| Some((period, repetitions(&calls, period)?)))
        .max_by_key(|(_, repetitions)| *repetitions)?;
    let mut counter = BatchCounter::new(call);
    for round in 1..repetitions {
        counter.add(calls[round * period]);
    }
    // The action digest covers the whole sequence, so that it does not depend on the current step.
    let varies = calls[..period].iter().zip(&calls[period..]).any(|(now, then)| !now.has_same_action(then));
    let step = |call: &Call| if varies { call.tool_digest().0 ^ call.outcome().0 } else { call.key.0 };
    let round = calls[..period].iter().fold((0, 0), |(keys, ends), c| (keys ^ step(c), ends ^ c.outcome().0));
    // Passing checks are repeated for certainty.
    let passing = calls[..period].iter().any(|call| call.is(CallFlags::PASSED))
        && !calls[..period].iter().any(|call| call.failed());
    let strength = if passing || calls[..period].iter().all(|call| call.is_terse()) {
        Strength::VeryWeak
    } else {
        Strength::Strong
    };
    let nudge_target = if varies { NudgeTarget::Any } else { NudgeTarget::Key(call.key) };
    Some(counter.claim(strength, nudge_target, Digest(round.0), Digest(round.1)))
}

/// Number of complete repetitions of this period that end with the newest call; `None` below two.
fn repetitions(calls: &[&Call], period: usize) -> Option<usize> {
    let again = |at: usize| calls.get(at + period).is_some_and(|then| is_same_step(calls[at], then));
    let matching = (0..calls.len()).take_while(|at| again(*at)).count();
    let repetitions = matching / period + 1;
    let round = calls.get(..period)?;
    // One repeated call is an exact repeat, and new changes are progress.
    let varied = round.iter().any(|call| !is_same_step(call, round[0]));
    let unchanged = calls[..matching.min(calls.len())]
        .iter()
        // So is a claim after which the work went on.
        .all(|call| (is_loop_candidate(call) || call.kind == ToolKind::Finish) && !call.is(CallFlags::NEW_CHANGE));
    (repetitions >= 2 && varied && unchanged).then_some(repetitions)
}

fn is_same_step(a: &Call, b: &Call) -> bool {
    a.has_same_result(b) && (a.has_same_action(b) || is_same_refusal(a, b))
}

/// The same tool refuses in the same words, whatever the input is. Failing edits have their own pattern.
fn is_same_refusal(a: &Call, b: &Call) -> bool {
    a.failed() && a.tool == b.tool && !a.edits() && !a.is(CallFlags::NO_OUTPUT)
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!(
            "The same sequence of calls was repeated {}, each step with the same result; last: {what}",
            count_phrase(claim.ran())
        ),
        unchanged: describe_outcome(context),
        progress: "a step of the sequence with a different result, or a change to the project",
        tips: &[
            "Stop and write down what each step of the sequence showed.",
            "Leave the sequence: do something you have not done yet in this session.",
            "If a step cannot work, say so and ask instead of trying the others again.",
        ],
        custom_message: None,
    }
}
