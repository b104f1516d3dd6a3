//! A round of two to eight different calls that is gone through again and again, each step answered
//! as in the round before.

use super::{Pattern, Trigger};
use crate::detect::call_context::{BatchCounter, is_loop_candidate};
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::{Call, CallFlags};

pub(super) static PATTERN: Pattern = Pattern {
    name: "cycle",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.cycle,
    look,
    say,
};

/// Longest round looked for.
const LONGEST: usize = 8;

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if !is_loop_candidate(call) || call.is(CallFlags::NEW_ACTION_OUTCOME) {
        return None;
    }
    // A round ends where the one before did: only distances at which this very step was met before.
    let mut met = view.earlier(LONGEST).enumerate().filter(|(_, other)| same_step(call, other)).map(|(at, _)| at + 1);
    let nearest = met.next()?;
    let calls: Vec<&Call> = std::iter::once(call).chain(view.earlier(rule.window)).collect();
    let periods = std::iter::once(nearest).chain(met).filter(|period| *period >= 2);
    // Of several readings the one with most rounds: the shortest period.
    let (period, rounds) =
        periods.filter_map(|period| Some((period, rounds(&calls, period)?))).max_by_key(|(_, rounds)| *rounds)?;
    let mut tally = BatchCounter::of(call);
    for round in 1..rounds {
        tally.add(calls[round * period]);
    }
    // The whole round stands for the action, whichever step it was noticed at.
    let round = calls[..period].iter().fold((0, 0), |(keys, ends), c| (keys ^ c.key.0, ends ^ c.outcome().0));
    // Checks are gone through again to be sure.
    let green = calls[..period].iter().any(|call| call.is(CallFlags::PASSED))
        && !calls[..period].iter().any(|call| call.failed());
    let strength =
        if green || calls[..period].iter().all(|call| call.is_terse()) { Strength::VeryWeak } else { Strength::Strong };
    Some(tally.claim(strength, NudgeTarget::Key(call.key), Digest(round.0), Digest(round.1)))
}

/// How many whole rounds of this period end with the newest call; `None` below two.
fn rounds(calls: &[&Call], period: usize) -> Option<usize> {
    let again = |at: usize| calls.get(at + period).is_some_and(|then| same_step(calls[at], then));
    let matching = (0..calls.len()).take_while(|at| again(*at)).count();
    let rounds = matching / period + 1;
    let round = calls.get(..period)?;
    // A round of one repeated call is a repeat, and one that changes something new is work.
    let varied = round.iter().any(|call| !call.has_same_action(round[0]));
    let idle = calls[..matching.min(calls.len())]
        .iter()
        .all(|call| is_loop_candidate(call) && !call.is(CallFlags::NEW_CHANGE));
    (rounds >= 2 && varied && idle).then_some(rounds)
}

fn same_step(a: &Call, b: &Call) -> bool {
    a.has_same_action(b) && a.has_same_result(b)
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(view);
    Wording {
        sentence: format!(
            "The same round of calls was gone through {}, each step ending as before; last: {what}",
            count_phrase(claim.count)
        ),
        unchanged: describe_outcome(view),
        progress: "a step of the round that ends differently, or a change to the project",
        tips: &[
            "Stop and write down what each step of the round told you.",
            "Leave the round: do something you have not done yet in this session.",
            "If a step cannot work, say so and ask instead of trying the others again.",
        ],
        own: None,
    }
}
