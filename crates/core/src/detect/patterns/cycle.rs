//! A round of two to eight different calls that is gone through again and again, each step answered
//! as in the round before.

use super::{Pattern, Trigger};
use crate::detect::view::{Tally, can_circle};
use crate::detect::words::{outcome_of, times, what_of};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::{Call, Traits};

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

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if !can_circle(call) || call.is(Traits::NEW_PAIR) {
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
    let mut tally = Tally::of(call);
    for round in 1..rounds {
        tally.add(calls[round * period]);
    }
    // The whole round stands for the action, whichever step it was noticed at.
    let round = calls[..period].iter().fold((0, 0), |(keys, ends), c| (keys ^ c.key.0, ends ^ c.outcome().0));
    // Checks are gone through again to be sure.
    let green =
        calls[..period].iter().any(|call| call.is(Traits::PASSED)) && !calls[..period].iter().any(|call| call.failed());
    let strength =
        if green || calls[..period].iter().all(|call| call.says_little()) { Strength::Faint } else { Strength::Strong };
    Some(tally.claim(strength, Matcher::Key(call.key), Digest(round.0), Digest(round.1)))
}

/// How many whole rounds of this period end with the newest call; `None` below two.
fn rounds(calls: &[&Call], period: usize) -> Option<usize> {
    let again = |at: usize| calls.get(at + period).is_some_and(|then| same_step(calls[at], then));
    let matching = (0..calls.len()).take_while(|at| again(*at)).count();
    let rounds = matching / period + 1;
    let round = calls.get(..period)?;
    // A round of one repeated call is a repeat, and one that changes something new is work.
    let varied = round.iter().any(|call| !call.same_action(round[0]));
    let idle = calls[..matching.min(calls.len())].iter().all(|call| can_circle(call) && !call.is(Traits::NEW_CHANGE));
    (rounds >= 2 && varied && idle).then_some(rounds)
}

fn same_step(a: &Call, b: &Call) -> bool {
    a.same_action(b) && a.same_answer(b)
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let what = what_of(view);
    Words {
        sentence: format!(
            "The same round of calls was gone through {}, each step ending as before; last: {what}",
            times(claim.count)
        ),
        unchanged: outcome_of(view),
        progress: "a step of the round that ends differently, or a change to the project",
        tips: &[
            "Stop and write down what each step of the round told you.",
            "Leave the round: do something you have not done yet in this session.",
            "If a step cannot work, say so and ask instead of trying the others again.",
        ],
        own: None,
    }
}
