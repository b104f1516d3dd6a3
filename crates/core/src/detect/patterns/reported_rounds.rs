//! Rounds that a client of another tool's events API reported: the same files changed, the same failure after it.
//!
//! Such a client tells of few events, and only of the work itself. A round is therefore worth more than a call, and has a
//! ladder of its own (`compat.pause_at`).

use super::{Pattern, Trigger};
use crate::detect::wording::{count_phrase, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::{Call, CallFlags};

pub(super) static PATTERN: Pattern = Pattern {
    name: "reported_rounds",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: true,
    second_look: false,
    rule: |rules| &rules.reported_rounds,
    detect,
    describe,
};

/// Changed files and the entries of one round, while it is read backwards.
#[derive(Default)]
struct Round {
    files: Vec<u32>,
    entries: Vec<usize>,
}

impl Round {
    fn add_change(&mut self, at: usize, call: &Call) {
        let file = call.target.bits();
        if !self.files.contains(&file) {
            self.files.push(file);
        }
        self.entries.push(at);
    }

    fn finish(mut self) -> Self {
        self.files.sort_unstable();
        self
    }
}

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let newest = context.call()?;
    if !newest.is(CallFlags::REPORTED) || !newest.is(CallFlags::CHECK) || !newest.failed() {
        return None;
    }
    let calls = context.session.window().calls();
    let mut rounds: Vec<Round> = Vec::new();
    let mut round = Round { entries: vec![context.focus], ..Round::default() };
    let reach = context.focus.saturating_sub(rule.window)..context.focus;
    for (at, call) in reach.clone().zip(calls.range(reach)).rev() {
        if !call.is(CallFlags::REPORTED) {
            continue;
        }
        if !call.is(CallFlags::CHECK) {
            round.add_change(at, call);
            continue;
        }
        if !call.fails_same_way(newest) {
            break;
        }
        // A second run without a change in between belongs to the same round.
        if !round.files.is_empty() {
            rounds.push(std::mem::take(&mut round).finish());
        }
        round.entries.push(at);
    }
    rounds.push(round.finish());
    let files = &rounds.first()?.files;
    let same: Vec<&Round> = rounds.iter().take_while(|round| !files.is_empty() && round.files == *files).collect();
    let count = u32::try_from(same.len()).unwrap_or(u32::MAX);
    let mut entries: Vec<usize> = same.iter().flat_map(|round| round.entries.iter().copied()).collect();
    entries.sort_unstable();
    let action = Digest::from_bytes(files.iter().flat_map(|file| file.to_le_bytes()).collect::<Vec<_>>());
    let claim = context.session_claim(count, Strength::Strong, action, NudgeTarget::Turn);
    (count > 1).then(|| Claim { outcome: newest.outcome(), entries, ..claim })
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!(
            "The same files were changed {} in a row, and the same failure followed each time.",
            count_phrase(claim.ran())
        ),
        unchanged: describe_outcome(context),
        progress: "a different failure, a passing check, or a change elsewhere",
        tips: &[
            "The cause is probably not in these files: trace the failure to where it starts.",
            "Undo the last attempts and reproduce the failure in the smallest way you can.",
        ],
        custom_message: None,
    }
}
