//! The last calls of a session, in call order, with answers attached as they come.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::call::{Call, CallFlags, CallResult, ShortDigest};
use crate::detect::MESSAGE_PREFIX;
use crate::digest::Digest;
use crate::event::{ToolCalled, ToolReturned};
use crate::outcome::CallStatus;
use crate::time::Timestamp;

/// How many calls detectors can look back on.
pub const CALL_WINDOW: usize = 64;

/// The last calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallWindow {
    calls: VecDeque<Call>,
    /// Number of the current batch.
    batch: u32,
    /// Name of the current batch, when its sensor names batches.
    batch_name: ShortDigest,
    /// Something was said since the last call, so the next one begins a batch.
    broken: bool,
    /// Calls before this ordinal are no evidence any more: a person spoke, or reset.
    since: u64,
}

impl CallWindow {
    /// All calls kept, oldest first.
    pub fn calls(&self) -> &VecDeque<Call> {
        &self.calls
    }

    /// First ordinal that still counts as evidence.
    pub fn since(&self) -> u64 {
        self.since
    }

    /// What happened so far is no evidence any more.
    pub fn drop_evidence(&mut self, next_ordinal: u64) {
        self.since = next_ordinal;
    }

    /// Text or a prompt separates batches.
    pub fn insert_boundary(&mut self) {
        self.broken = true;
    }

    /// Takes a call in. Calls that carry the same batch name, or that come while the one before
    /// still runs and nothing was said in between, were made side by side.
    pub fn push(&mut self, ordinal: u64, name: Option<&str>, at: Timestamp, called: &ToolCalled) -> &mut Call {
        let name = ShortDigest::from(name.map(Digest::of));
        let beside = match self.calls.back() {
            Some(_) if name.is_some() => name == self.batch_name,
            Some(last) => !self.broken && last.answer.is_none(),
            None => false,
        };
        if !beside {
            self.batch = self.batch.wrapping_add(1);
        }
        self.batch_name = name;
        self.broken = false;
        self.put(Call::new(ordinal, self.batch, at, called))
    }

    /// Takes something in that no tool call told of: always a batch of its own.
    pub fn observe(&mut self, make: impl FnOnce(u32) -> Call) -> &mut Call {
        self.batch = self.batch.wrapping_add(1);
        self.batch_name = ShortDigest::NONE;
        self.broken = true;
        let call = make(self.batch);
        self.put(call)
    }

    fn put(&mut self, call: Call) -> &mut Call {
        if self.calls.len() == CALL_WINDOW {
            self.calls.pop_front();
        }
        self.calls.push_back(call);
        let last = self.calls.len() - 1;
        &mut self.calls[last]
    }

    /// Calls of this kind are fine, those that were made included.
    pub fn allow(&mut self, action: Digest, outcome: Digest) {
        for call in self.calls.iter_mut().filter(|call| call.key == action && call.outcome() == outcome) {
            call.traits.set(CallFlags::ALLOWED, true);
        }
    }

    /// Where the call with this id stands.
    pub fn position(&self, id: &str) -> Option<usize> {
        let mark = ShortDigest::from(Digest::of(id));
        self.calls.iter().rposition(|call| call.id_mark == mark)
    }

    /// Attaches an answer to the call it belongs to and tells where that stands. Without an id that
    /// is the oldest waiting call with the fingerprint named; without either, the oldest call of the
    /// newest batch that still waits, else the newest that waits at all. What was held back waits for
    /// nothing, but may have run all the same.
    pub fn match_result(&mut self, returned: &ToolReturned) -> Option<usize> {
        let denied = |call: &Call| call.is(CallFlags::HELD_BACK);
        let waits = |call: &Call| (call.answer.is_none() || denied(call)) && !call.is(CallFlags::EXTERNAL);
        let at = match (&returned.call, returned.answers) {
            (Some(id), _) => self.position(id).filter(|at| waits(&self.calls[*at])),
            (None, Some(key)) => {
                let asked = |call: &Call| waits(call) && call.key == key;
                let ran = self.calls.iter().position(|call| asked(call) && !denied(call));
                ran.or_else(|| self.calls.iter().rposition(asked))
            }
            (None, None) => {
                let newest = self.calls.iter().position(|call| waits(call) && call.batch == self.batch);
                newest.or_else(|| self.calls.iter().rposition(waits))
            }
        }?;
        self.calls[at].answer = Some(CallResult::new(returned));
        Some(at)
    }

    /// A call passes the proxy: whether it is one that a hook told of without an id, and that was not
    /// seen there before. It has an id then.
    pub fn take_unmatched(&mut self, called: &ToolCalled) -> bool {
        let apart = CallFlags::SEEN_BY_PROXY.and(CallFlags::EXTERNAL);
        let is_it = |call: &&mut Call| call.key == called.action.key && !call.is(apart) && !call.id_mark.is_some();
        let Some(call) = self.calls.iter_mut().find(is_it) else { return false };
        call.traits.set(CallFlags::SEEN_BY_PROXY, true);
        call.id_mark = called.call.as_ref().map(Digest::of).into();
        true
    }

    /// An answer passes the proxy: whether the call it belongs to has one from a hook.
    pub fn take_unmatched_result(&mut self, returned: &ToolReturned) -> bool {
        let at = match &returned.call {
            Some(id) => self.position(id),
            None => {
                let waits =
                    |call: &Call| call.is(CallFlags::SEEN_BY_PROXY) && !call.is(CallFlags::RESULT_SEEN_BY_PROXY);
                self.calls.iter().position(waits)
            }
        };
        let Some(call) = at.and_then(|at| self.calls.get_mut(at)) else { return false };
        call.traits.set(CallFlags::RESULT_SEEN_BY_PROXY, true);
        call.answer.is_some()
    }

    /// The call that was just asked for does not run.
    pub fn mark_newest_held_back(&mut self) {
        if let Some(call) = self.calls.back_mut() {
            call.traits.set(CallFlags::HELD_BACK, true);
        }
    }

    /// Whether this is how an agent tells of a call that we held back: its answer is our own doing and
    /// no evidence of anything.
    pub fn held_back(&self, returned: &ToolReturned) -> bool {
        let denied = |call: &Call| call.is(CallFlags::HELD_BACK);
        let answered = match (&returned.call, returned.answers) {
            (Some(id), _) => self.position(id).map(|at| &self.calls[at]),
            (None, Some(key)) => self.calls.iter().rev().find(|call| denied(call) && call.key == key),
            (None, None) => None,
        };
        answered.is_some_and(denied) && (CallResult::new(returned).status == CallStatus::Refused || quotes_us(returned))
    }

    /// The oldest call of the newest batch that still runs.
    pub fn running(&self) -> Option<&Call> {
        let newest = self.calls.iter().rev().take_while(|call| call.batch == self.batch);
        newest.filter(|call| call.answer.is_none() && !call.is(CallFlags::HELD_BACK)).last()
    }

    /// The call that runs has declared that it waits: asked again as often as it likes, it is no poll.
    pub(crate) fn ignore_declared_wait(&mut self) {
        let batch = self.batch;
        let newest = self.calls.iter_mut().rev().take_while(|call| call.batch == batch);
        if let Some(call) = newest.filter(|call| call.answer.is_none() && call.is(CallFlags::POLL)).last() {
            call.traits.set(CallFlags::ALLOWED, true);
        }
    }

    pub fn get(&self, at: usize) -> Option<&Call> {
        self.calls.get(at)
    }

    pub fn get_mut(&mut self, at: usize) -> Option<&mut Call> {
        self.calls.get_mut(at)
    }

    /// Calls of the batch before the current one that were never answered: nothing will come now.
    pub fn evicted(&self) -> Vec<usize> {
        let before = self.batch.wrapping_sub(1);
        let unanswered = |(_, call): &(usize, &Call)| {
            call.batch == before && call.answer.is_none() && !call.is(CallFlags::HELD_BACK)
        };
        let recent =
            self.calls.iter().enumerate().rev().take_while(|(_, call)| call.batch.wrapping_add(1) >= self.batch);
        let mut found: Vec<usize> = recent.filter(unanswered).map(|(at, _)| at).collect();
        found.reverse();
        found
    }
}

/// Agents put words of their own around a nudge they pass on.
fn quotes_us(returned: &ToolReturned) -> bool {
    returned.output.as_str().contains(MESSAGE_PREFIX)
}
