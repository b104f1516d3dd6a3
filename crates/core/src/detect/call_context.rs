//! What a pattern may look at.

use std::cell::OnceCell;

use super::repeat_count::Repeats;
use super::{Claim, NudgeTarget, Strength};
use crate::action::ToolKind;
use crate::digest::Digest;
use crate::outcome::CallStatus;
use crate::session::{Call, CallFlags, Session};

/// A session, seen from one of its calls.
#[derive(Debug)]
pub struct CallContext<'a> {
    /// The session.
    pub session: &'a Session,
    /// Where the call stands whose answer gave occasion to look.
    pub focus: usize,
    /// The call was just asked for; its answer is not there yet.
    pub asked: bool,
    /// Occurrences of the call in focus: several patterns ask for them.
    repeats: OnceCell<Option<Repeats<'a>>>,
}

impl<'a> CallContext<'a> {
    pub(crate) fn new(session: &'a Session, focus: usize, asked: bool) -> Self {
        Self { session, focus, asked, repeats: OnceCell::new() }
    }

    /// Occurrences of the call in focus, if there is more than one.
    pub(crate) fn repeats(&self) -> Option<&Repeats<'a>> {
        self.repeats.get_or_init(|| Repeats::of(self)).as_ref()
    }

    /// The call that gave occasion to look.
    pub fn call(&self) -> Option<&'a Call> {
        self.session.window().get(self.focus)
    }

    /// The calls before it that still count as evidence, newest first, at most `reach` back. Plans and
    /// the like are left out.
    pub fn earlier(&self, reach: usize) -> impl Iterator<Item = &'a Call> + use<'a> {
        let window = self.session.window();
        let since = window.since();
        let calls = window.calls();
        let focus = self.focus.min(calls.len());
        calls
            .range(focus.saturating_sub(reach)..focus)
            .rev()
            .take_while(move |call| call.ordinal >= since)
            .filter(|call| !call.is_neutral())
    }
}

impl CallContext<'_> {
    /// A claim about what happens between calls, since the latest of them.
    pub(crate) fn turn_claim(&self, count: u32, strength: Strength, action: Digest) -> Claim {
        let first = self.session.counters.calls.saturating_sub(1);
        Claim { count, strength, action, outcome: Digest(0), first, calls: Vec::new(), matcher: NudgeTarget::Turn }
    }

    /// A claim about the session as a whole, since a person spoke last.
    pub(crate) fn session_claim(&self, count: u32, strength: Strength, action: Digest, matcher: NudgeTarget) -> Claim {
        let first = self.session.window().since();
        Claim { count, strength, action, outcome: Digest(0), first, calls: Vec::new(), matcher }
    }
}

/// May this call be evidence of going in circles at all?
pub(crate) fn is_loop_candidate(call: &Call) -> bool {
    !call.is_neutral()
        && call.kind != ToolKind::Finish
        && !call.is(CallFlags::POLL)
        && !call.is(CallFlags::OUTAGE)
        && call.status() != Some(CallStatus::Running)
}

/// How many calls a finding shows.
const MAX_EVIDENCE_CALLS: usize = 12;

/// Counts batches while walking back over calls.
#[derive(Debug)]
pub(crate) struct BatchCounter {
    last_batch: u32,
    /// Batches counted.
    pub count: u32,
    /// The oldest call counted.
    pub first: u64,
    calls: [u64; MAX_EVIDENCE_CALLS],
}

impl BatchCounter {
    pub(crate) fn of(call: &Call) -> Self {
        let mut calls = [0; MAX_EVIDENCE_CALLS];
        calls[0] = call.ordinal;
        Self { last_batch: call.batch, count: 1, first: call.ordinal, calls }
    }

    /// Counts a call, unless its batch was counted already.
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
    }

    /// The claim that follows.
    pub(crate) fn claim(&self, strength: Strength, matcher: NudgeTarget, action: Digest, outcome: Digest) -> Claim {
        let shown = self.calls.get(..self.count as usize).unwrap_or(&self.calls);
        let calls = shown.iter().rev().copied().collect();
        Claim { count: self.count, strength, action, outcome, first: self.first, calls, matcher }
    }
}
