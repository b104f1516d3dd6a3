//! The most recent calls of a session in call order; results are attached as they arrive.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::call::{Call, CallFlags, CallResult, ShortDigest};
use crate::detect::MESSAGE_PREFIX;
use crate::digest::Digest;
use crate::event::{ToolCalled, ToolReturned};
use crate::outcome::CallStatus;
use crate::time::Timestamp;

/// How many calls back detectors can see.
pub const CALL_WINDOW: usize = 64;

/// The most recent calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallWindow {
    calls: VecDeque<Call>,
    /// Number of the current batch.
    batch: u32,
    /// Name of the current batch, if the sensor names batches.
    batch_name: ShortDigest,
    /// Text or a prompt followed the last call, so the next call starts a batch.
    batch_closed: bool,
    /// Calls before this ordinal no longer count as evidence: a person prompted or reset.
    since: u64,
    /// Ordinal of the call that received the latest result.
    #[serde(default)]
    last_answered: Option<u64>,
    /// The agent no longer knows what calls before this ordinal showed: its context was compacted.
    #[serde(default)]
    compacted_at: u64,
}

impl CallWindow {
    /// All retained calls, oldest first.
    pub fn calls(&self) -> &VecDeque<Call> {
        &self.calls
    }

    /// First ordinal that counts as evidence.
    pub fn since(&self) -> u64 {
        self.since
    }

    /// Ordinal of the call that received the latest result.
    pub fn last_answered(&self) -> Option<u64> {
        self.last_answered
    }

    /// Excludes all calls before `next_ordinal` from the evidence.
    pub fn drop_evidence(&mut self, next_ordinal: u64) {
        self.since = next_ordinal;
        // Changes and checks without a call have no ordinal of their own.
        self.calls.iter_mut().for_each(|call| call.flags.set(CallFlags::REPORTED, false));
    }

    /// First ordinal whose output the agent still knows.
    pub(super) fn compacted_at(&self) -> u64 {
        self.compacted_at
    }

    /// Records that the agent forgot all outputs before `next_ordinal`.
    pub(super) fn compact(&mut self, next_ordinal: u64) {
        self.compacted_at = next_ordinal;
    }

    /// Ends the current batch.
    pub fn insert_boundary(&mut self) {
        self.batch_closed = true;
    }

    /// Adds a call. Calls with the same batch name were made in parallel; without names, so were calls that
    /// start while the previous one runs with no text in between.
    pub fn push(&mut self, ordinal: u64, name: Option<&str>, at: Timestamp, called: &ToolCalled) -> &mut Call {
        let name = ShortDigest::from(name.map(Digest::from_bytes));
        let in_batch = match self.calls.back() {
            Some(_) if name.is_some() => name == self.batch_name,
            Some(last) => !self.batch_closed && last.result.is_none(),
            None => false,
        };
        if !in_batch {
            self.batch = self.batch.wrapping_add(1);
        }
        self.batch_name = name;
        self.batch_closed = false;
        self.push_call(Call::new(ordinal, self.batch, at, called))
    }

    /// Adds an entry that no tool call reported, as a batch of its own.
    pub fn observe(&mut self, make: impl FnOnce(u32) -> Call) -> &mut Call {
        self.batch = self.batch.wrapping_add(1);
        self.batch_name = ShortDigest::NONE;
        self.batch_closed = true;
        let call = make(self.batch);
        self.push_call(call)
    }

    fn push_call(&mut self, call: Call) -> &mut Call {
        if self.calls.len() == CALL_WINDOW {
            self.calls.pop_front();
        }
        self.calls.push_back(call);
        let last = self.calls.len() - 1;
        &mut self.calls[last]
    }

    /// Marks all calls with this action and outcome as allowed.
    pub fn allow(&mut self, action: Digest, outcome: Digest) {
        for call in self.calls.iter_mut().filter(|call| call.key == action && call.outcome() == outcome) {
            call.flags.set(CallFlags::ALLOWED, true);
        }
    }

    /// Index of the call with this id.
    pub fn position(&self, id: &str) -> Option<usize> {
        let digest = ShortDigest::from(Digest::from_bytes(id));
        self.calls.iter().rposition(|call| call.id_digest == digest)
    }

    /// Attaches a result to its call and returns the index. Without an id, that is the oldest pending call
    /// with the given fingerprint; without either, the oldest pending call of the newest batch, else the
    /// newest pending call. A held-back call is not pending, but may have run all the same.
    pub fn match_result(&mut self, returned: &ToolReturned) -> Option<usize> {
        let at = self.call_of(returned)?;
        let call = &mut self.calls[at];
        call.result = Some(match call.is(CallFlags::ENV_FILE) {
            true => CallResult::new(&returned.with_env_values_redacted()),
            false => CallResult::new(returned),
        });
        if let Some(exact) = returned.outcome.exact
            && call.shows_its_values(&returned.outcome)
            && let Some(result) = &mut call.result
        {
            result.digest = exact;
        }
        self.last_answered = Some(call.ordinal);
        Some(at)
    }

    /// Whether the call of this result reads or prints an environment file.
    pub(crate) fn shows_env_file(&self, returned: &ToolReturned) -> bool {
        // A second sensor may report the result of a call that already has one.
        let by_id = returned.call.as_deref().and_then(|id| self.position(id));
        by_id.or_else(|| self.call_of(returned)).is_some_and(|at| self.calls[at].is(CallFlags::ENV_FILE))
    }

    /// Index of the call that this result belongs to.
    fn call_of(&self, returned: &ToolReturned) -> Option<usize> {
        let held_back = |call: &Call| call.is(CallFlags::HELD_BACK);
        let is_pending = |call: &Call| (call.result.is_none() || held_back(call)) && !call.is(CallFlags::EXTERNAL);
        match (&returned.call, returned.answers) {
            (Some(id), _) => self.position(id).filter(|at| is_pending(&self.calls[*at])),
            (None, Some(key)) => {
                let matches = |call: &Call| is_pending(call) && call.key == key;
                let running = self.calls.iter().position(|call| matches(call) && !held_back(call));
                running.or_else(|| self.calls.iter().rposition(matches))
            }
            (None, None) => {
                let newest = self.calls.iter().position(|call| is_pending(call) && call.batch == self.batch);
                newest.or_else(|| self.calls.iter().rposition(is_pending))
            }
        }
    }

    /// Matches a call seen by the proxy with one that a hook reported without an id, and gives that call its
    /// id. Returns whether there is one.
    pub fn take_unmatched(&mut self, called: &ToolCalled) -> bool {
        let excluded = CallFlags::SEEN_BY_PROXY.union(CallFlags::EXTERNAL);
        let is_candidate = |call: &Call| !call.is(excluded) && !call.id_digest.is_some();
        let same = self.calls.iter().position(|call| call.key == called.action.key && is_candidate(call));
        // A hook may replace the command of a call that is held back.
        let at = same.or_else(|| {
            let newest = self.calls.back().filter(|call| call.is(CallFlags::HELD_BACK) && is_candidate(call));
            newest.map(|_| self.calls.len() - 1)
        });
        let Some(call) = at.and_then(|at| self.calls.get_mut(at)) else { return false };
        call.flags.set(CallFlags::SEEN_BY_PROXY, true);
        call.id_digest = called.call.as_ref().map(Digest::from_bytes).into();
        true
    }

    /// Marks a result as seen by the proxy. Returns whether a hook has already reported it.
    pub fn take_unmatched_result(&mut self, returned: &ToolReturned) -> bool {
        let at = match &returned.call {
            Some(id) => self.position(id),
            None => {
                let is_pending =
                    |call: &Call| call.is(CallFlags::SEEN_BY_PROXY) && !call.is(CallFlags::RESULT_SEEN_BY_PROXY);
                self.calls.iter().position(is_pending)
            }
        };
        let Some(call) = at.and_then(|at| self.calls.get_mut(at)) else { return false };
        call.flags.set(CallFlags::RESULT_SEEN_BY_PROXY, true);
        call.result.is_some()
    }

    /// Whether the newest call wrote this file also when it was made before: then the file is a part of its outcome, and
    /// did not change the project then either. What editing tools write is their own change.
    pub(super) fn is_written_by_each_run(&mut self, file: ShortDigest) -> bool {
        let is_run = |call: &&Call| !call.is(CallFlags::EXTERNAL);
        let Some(newest) = self.calls.iter().rev().find(is_run).filter(|call| !call.changes_file()) else {
            return false;
        };
        let earlier = |call: &&Call| is_run(call) && call.ordinal != newest.ordinal && call.has_same_action(newest);
        let runs: Vec<u64> = self.calls.iter().filter(earlier).map(|call| call.ordinal).collect();
        let mut written = false;
        for change in &mut self.calls {
            if change.is(CallFlags::EXTERNAL) && change.target == file && runs.contains(&change.ordinal) {
                change.flags.set(CallFlags::NEW_CHANGE, false);
                written = true;
            }
        }
        written
    }

    /// Marks the newest call as held back.
    pub fn mark_newest_held_back(&mut self) {
        if let Some(call) = self.calls.back_mut() {
            call.flags.set(CallFlags::HELD_BACK, true);
        }
    }

    /// Whether this result is the agent's report of a call that Belay held back. Such a result is not
    /// evidence.
    pub fn held_back(&self, returned: &ToolReturned) -> bool {
        let held_back = |call: &Call| call.is(CallFlags::HELD_BACK);
        let call = match (&returned.call, returned.answers) {
            (Some(id), _) => self.position(id).map(|at| &self.calls[at]),
            (None, Some(key)) => self.calls.iter().rev().find(|call| held_back(call) && call.key == key),
            (None, None) => None,
        };
        call.is_some_and(held_back)
            && (CallResult::status_of(returned) == CallStatus::Refused || quotes_belay(returned))
    }

    /// The oldest running call of the newest batch.
    pub fn running(&self) -> Option<&Call> {
        let newest = self.calls.iter().rev().take_while(|call| call.batch == self.batch);
        newest.filter(|call| call.result.is_none() && !call.is(CallFlags::HELD_BACK)).last()
    }

    /// Exempts the running call from polling detection after it declared a wait.
    pub(crate) fn ignore_declared_wait(&mut self) {
        let batch = self.batch;
        let newest = self.calls.iter_mut().rev().take_while(|call| call.batch == batch);
        if let Some(call) = newest.filter(|call| call.result.is_none() && call.is(CallFlags::POLL)).last() {
            call.flags.set(CallFlags::ALLOWED, true);
        }
    }

    pub fn get(&self, at: usize) -> Option<&Call> {
        self.calls.get(at)
    }

    pub fn get_mut(&mut self, at: usize) -> Option<&mut Call> {
        self.calls.get_mut(at)
    }

    /// Ordinals of the newest batch.
    pub(crate) fn newest_batch(&self) -> RangeInclusive<u64> {
        let calls = || self.calls.iter().rev().take_while(|call| call.batch == self.batch).map(|call| call.ordinal);
        calls().last().unwrap_or(0)..=calls().next().unwrap_or(0)
    }

    /// Indices of the newest batch's calls without a result.
    pub fn unanswered(&self) -> Vec<usize> {
        let waits = |call: &Call| call.result.is_none() && !call.is(CallFlags::HELD_BACK.union(CallFlags::EXTERNAL));
        let newest = self.calls.iter().enumerate().rev().take_while(|(_, call)| call.batch == self.batch);
        let mut found: Vec<usize> = newest.filter(|(_, call)| waits(call)).map(|(at, _)| at).collect();
        found.reverse();
        found
    }

    /// Indices of the previous batch's calls without a result: none will arrive now.
    pub fn abandoned(&self) -> Vec<usize> {
        let before = self.batch.wrapping_sub(1);
        let unanswered = |(_, call): &(usize, &Call)| {
            call.batch == before && call.result.is_none() && !call.is(CallFlags::HELD_BACK)
        };
        let recent =
            self.calls.iter().enumerate().rev().take_while(|(_, call)| call.batch.wrapping_add(1) >= self.batch);
        let mut found: Vec<usize> = recent.filter(unanswered).map(|(at, _)| at).collect();
        found.reverse();
        found
    }
}

/// Agents may wrap a nudge in text of their own.
fn quotes_belay(returned: &ToolReturned) -> bool {
    returned.output.as_str().contains(MESSAGE_PREFIX)
}
