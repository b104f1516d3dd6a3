//! The context of a session that patterns evaluate.

use std::cell::OnceCell;

use super::repeat_count::Repeats;
use super::{Claim, NudgeTarget, Strength};
use crate::action::ToolKind;
use crate::digest::Digest;
use crate::outcome::CallStatus;
use crate::session::{Call, CallFlags, Session};

/// A session from the point of context of one call.
#[derive(Debug)]
pub struct CallContext<'a> {
    pub session: &'a Session,
    /// Index of the call that triggered the evaluation.
    pub focus: usize,
    /// The call has been requested but has no result yet.
    pub pending: bool,
    /// Cached because several patterns need it.
    repeats: OnceCell<Option<Repeats<'a>>>,
}

impl<'a> CallContext<'a> {
    pub(crate) fn new(session: &'a Session, focus: usize, pending: bool) -> Self {
        Self { session, focus, pending, repeats: OnceCell::new() }
    }

    /// Occurrences of the current call, if there is more than one.
    pub(crate) fn repeats(&self) -> Option<&Repeats<'a>> {
        self.repeats.get_or_init(|| Repeats::from_context(self)).as_ref()
    }

    /// The call that triggered the evaluation.
    pub fn call(&self) -> Option<&'a Call> {
        self.session.window().get(self.focus)
    }

    /// Earlier calls that count as evidence, newest first, at most `reach` back. Neutral calls are skipped.
    pub fn earlier(&self, reach: usize) -> impl Iterator<Item = &'a Call> + use<'a> {
        self.earlier_with_allowed(reach).filter(|call| !call.is_neutral())
    }

    /// Like [`Self::earlier`], with allowed calls. They are no evidence, but they separate what is around them.
    pub(crate) fn earlier_with_allowed(&self, reach: usize) -> impl Iterator<Item = &'a Call> + use<'a> {
        let window = self.session.window();
        let since = window.since();
        let calls = window.calls();
        let focus = self.focus.min(calls.len());
        calls
            .range(focus.saturating_sub(reach)..focus)
            .rev()
            .take_while(move |call| call.ordinal >= since)
            .filter(|call| call.is(CallFlags::ALLOWED) || !call.is_neutral())
    }

    /// Whether this call can be evidence of a loop here: while a person has asked the agent to watch something, looking
    /// again is the task.
    pub(crate) fn is_loop_candidate(&self, call: &Call) -> bool {
        is_loop_candidate(call)
            && !(self.session.dialogue().watching && call.succeeded() && !call.is(CallFlags::MUTATES))
    }
}

impl CallContext<'_> {
    /// A claim about turns, since the latest call.
    pub(crate) fn turn_claim(&self, count: u32, strength: Strength, action: Digest) -> Claim {
        let first = self.session.counters.calls.saturating_sub(1);
        claim_without_calls(count, strength, action, first, NudgeTarget::Turn)
    }

    /// A claim about the whole session, since the last prompt by a person.
    pub(crate) fn session_claim(
        &self,
        count: u32,
        strength: Strength,
        action: Digest,
        nudge_target: NudgeTarget,
    ) -> Claim {
        claim_without_calls(count, strength, action, self.session.window().since(), nudge_target)
    }
}

/// A claim whose evidence is not a list of calls. `first`: the call since which it holds.
fn claim_without_calls(count: u32, strength: Strength, action: Digest, first: u64, nudge_target: NudgeTarget) -> Claim {
    Claim {
        count,
        denied: 0,
        strength,
        action,
        outcome: Digest(0),
        first,
        calls: Vec::new(),
        entries: Vec::new(),
        nudge_target,
    }
}

/// Whether this call can be evidence of a loop.
pub(crate) fn is_loop_candidate(call: &Call) -> bool {
    // A claim that was refused is a call like any other.
    let claims = call.kind == ToolKind::Finish && !call.failed();
    // A receipt is not a result.
    let starts = call.is(CallFlags::STARTS) && call.succeeded();
    !call.is_neutral()
        && !claims
        && !starts
        && !call.is(CallFlags::POLL)
        && !call.is(CallFlags::OUTAGE)
        && call.status() != Some(CallStatus::Running)
}

/// Maximum number of calls shown in a finding.
const MAX_EVIDENCE_CALLS: usize = 12;

/// Counts batches while iterating backwards over calls.
#[derive(Debug)]
pub(crate) struct BatchCounter {
    last_batch: u32,
    pub count: u32,
    denied: u32,
    /// Ordinal of the oldest counted call.
    pub first: u64,
    calls: [u64; MAX_EVIDENCE_CALLS],
}

impl BatchCounter {
    pub(crate) fn new(call: &Call) -> Self {
        let mut calls = [0; MAX_EVIDENCE_CALLS];
        calls[0] = call.ordinal;
        let denied = u32::from(call.is(CallFlags::HELD_BACK));
        Self { last_batch: call.batch, count: 1, denied, first: call.ordinal, calls }
    }

    /// Counts a call unless its batch is already counted.
    pub(crate) fn add(&mut self, call: &Call) {
        if self.last_batch == call.batch {
            return;
        }
        self.last_batch = call.batch;
        self.first = call.ordinal;
        if let Some(slot) = self.calls.get_mut(self.count as usize) {
            *slot = call.ordinal;
        }
        self.count += 1;
        self.denied += u32::from(call.is(CallFlags::HELD_BACK));
    }

    pub(crate) fn claim(
        &self,
        strength: Strength,
        nudge_target: NudgeTarget,
        action: Digest,
        outcome: Digest,
    ) -> Claim {
        let shown = self.calls.get(..self.count as usize).unwrap_or(&self.calls);
        let calls = shown.iter().rev().copied().collect();
        Claim {
            count: self.count,
            denied: self.denied,
            strength,
            action,
            outcome,
            first: self.first,
            calls,
            entries: Vec::new(),
            nudge_target,
        }
    }
}
