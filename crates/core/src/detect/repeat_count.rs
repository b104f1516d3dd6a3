//! Counts occurrences of one call, for `exact_repeat` and `interleaved_repeat`.

use super::call_context::BatchCounter;
use super::{CallContext, Strength};
use crate::action::ToolKind;
use crate::outcome::CallStatus;
use crate::session::{CALL_WINDOW, Call, CallFlags};

/// Occurrences of the current call with the same result and no new change in between.
#[derive(Debug)]
pub(crate) struct Repeats<'a> {
    /// The newest occurrence with a result.
    pub latest: &'a Call,
    pub counter: BatchCounter,
    /// Number of other calls in between. Calls made in parallel with each occurrence are not in between.
    pub between: u32,
    /// First reads and first passed checks since the previous occurrence.
    pub recent_new_reads: u32,
    /// First reads and first passed checks since the first occurrence.
    pub new_reads: u32,
    /// Commands with unknown effects since the previous occurrence; they may have changed something.
    pub recent_new_commands: u32,
    /// Calls since the previous occurrence that were not repeats themselves.
    pub recent_new_calls: u32,
    /// Passed checks since the previous occurrence.
    pub recent_checks: u32,
    /// An edit was accepted in between, though not for the first time.
    pub edited: bool,
    /// The newest occurrence has no result.
    unanswered: bool,
}

impl<'a> Repeats<'a> {
    pub(super) fn from_context(context: &CallContext<'a>) -> Option<Self> {
        let call = context.call()?;
        // Without a result (yet, or because none was recorded), assume the previous one.
        let no_result = call.result.is_none();
        if !context.is_loop_candidate(call) || !no_result && call.is(CallFlags::NEW_ACTION_OUTCOME) {
            return None;
        }
        let answered = |other: &&Call| other.has_same_action(call) && other.result.is_some();
        let latest = if no_result { context.earlier(CALL_WINDOW).find(answered)? } else { call };
        if no_result && !context.is_loop_candidate(latest) || context.pending && is_judged_by_result(latest) {
            return None;
        }
        let mut found = Self {
            latest,
            counter: BatchCounter::new(call),
            between: 0,
            recent_new_reads: 0,
            new_reads: 0,
            recent_new_commands: 0,
            recent_new_calls: 0,
            recent_checks: 0,
            edited: false,
            unanswered: no_result,
        };
        let mut edited = false;
        let mut gap = Gap::default();
        // The batch of the occurrence after the current gap.
        let mut batch = call.batch;
        for other in context.earlier_with_allowed(CALL_WINDOW) {
            let edits = other.edits() && other.succeeded() && !other.is(CallFlags::EXTERNAL);
            // What is allowed is not evidence, but the calls around it are not consecutive, and a change is a change.
            if other.has_same_action(call) && !other.is(CallFlags::ALLOWED) {
                // A round without a result neither confirms nor refutes.
                if other.result.is_none() {
                    continue;
                }
                if !other.has_same_result(latest) {
                    break;
                }
                if found.counter.count == 1 {
                    found.recent_new_reads = gap.since(other.batch, is_new_read);
                    found.recent_new_commands = gap.since(other.batch, is_new_command);
                    found.recent_new_calls = gap.since(other.batch, is_new);
                    found.recent_checks = gap.since(other.batch, |call| call.is(CallFlags::PASSED));
                }
                found.counter.add(other);
                found.between += gap.others(batch, other.batch);
                found.new_reads += gap.since(other.batch, is_new_read);
                gap.0.clear();
                found.edited |= std::mem::take(&mut edited);
                batch = other.batch;
            } else if other.is(CallFlags::NEW_CHANGE) || latest.succeeded() && (edits || other.may_affect_others()) {
                // A look may show something else after this; a failure may go away. An accepted edit is a change, also if it
                // was made before: something else may have taken it away.
                break;
            } else if other.is(CallFlags::EXTERNAL) && !other.is(CallFlags::REPORTED) && !other.is(CallFlags::CHECK) {
                // A file that is written each time is a part of the outcome.
                continue;
            } else {
                edited |= edits;
                gap.0.push(other);
            }
        }
        (found.counter.count > 1).then_some(found)
    }

    /// Whether nothing but the repeats happened.
    pub(super) fn is_consecutive(&self) -> bool {
        self.between == 0 && self.new_reads == 0
    }

    /// How conclusive the repeats are, judging by the call alone.
    pub(super) fn strength(&self) -> Strength {
        // A look whose newest round was never answered needs one more: it may have shown something else.
        match self.unanswered && !self.latest.failed() && !self.latest.is(CallFlags::MUTATES) {
            true => self.strength_of_call().min(Strength::Weak),
            false => self.strength_of_call(),
        }
    }

    fn strength_of_call(&self) -> Strength {
        let call = self.latest;
        if call.failed() {
            return Strength::Strong;
        }
        let consecutive = self.is_consecutive();
        let known = !matches!(call.kind, ToolKind::Mcp | ToolKind::Other);
        match call.kind {
            // The same change twice in a row did not have the intended effect.
            _ if known && call.is(CallFlags::MUTATES) && consecutive => Strength::Strong,
            // Checks are repeated for certainty, often after changes that no sensor reported.
            _ if call.is(CallFlags::PASSED) => Strength::VeryWeak,
            // No or little output proves little.
            ToolKind::Shell | ToolKind::Read | ToolKind::Edit | ToolKind::Write | ToolKind::Search => {
                if call.is_terse() { Strength::Weak } else { Strength::Strong }
            }
            // An unknown tool may have an effect each time.
            _ if call.is_terse() => Strength::VeryWeak,
            _ => Strength::Weak,
        }
    }
}

/// Changes, time-outs and refusals have patterns of their own, which judge by the result.
pub(crate) fn is_judged_by_result(latest: &Call) -> bool {
    latest.changes_file() || matches!(latest.status(), Some(CallStatus::TimedOut | CallStatus::Refused))
}

/// The calls between two occurrences, newest first.
#[derive(Debug, Default)]
struct Gap<'a>(Vec<&'a Call>);

impl<'a> Gap<'a> {
    /// Number of calls in between. A set of parallel calls that repeats as a set is one round, so the calls made
    /// together with one of the two occurrences are not in between.
    fn others(&self, newer: u32, older: u32) -> u32 {
        count(self.0.iter().filter(|call| call.batch != newer && call.batch != older))
    }

    /// Number of calls of this kind since the older occurrence, without those made together with it.
    fn since(&self, older: u32, is_kind: impl Fn(&Call) -> bool) -> u32 {
        count(self.0.iter().filter(|call| call.batch != older && is_kind(call)))
    }
}

fn count<T>(items: impl Iterator<Item = T>) -> u32 {
    u32::try_from(items.count()).unwrap_or(u32::MAX)
}

fn is_new(call: &Call) -> bool {
    call.is(CallFlags::NEW_ACTION_OUTCOME) || call.is(CallFlags::ALLOWED)
}

/// A first read, or the first time that a check passed.
fn is_new_read(call: &Call) -> bool {
    call.is(CallFlags::FIRST_READ) || call.is(CallFlags::PASSED) && call.is(CallFlags::NEW_ACTION_OUTCOME)
}

/// A successful new command that does more than read.
fn is_new_command(call: &Call) -> bool {
    let reads = call.is(CallFlags::READ_ONLY) || call.is(CallFlags::POLL);
    call.kind == ToolKind::Shell && call.took_effect() && call.is(CallFlags::NEW_ACTION_OUTCOME) && !reads
}
