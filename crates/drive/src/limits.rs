//! Usage limits of accounts: what holds, and what providers report.
//!
//! Everything that Belay starts asks [`Limits::admit`] before, so that drivers share one answer. Limits are learned from
//! every session and run, and kept over restarts together with the quotas that providers report. An account that has
//! reached its limit is not asked again before the limit resets. Then one run goes first, until a model has answered it:
//! a reset time may be wrong, and twenty agents that find out together have spent twenty attempts.
//!
//! A slot that becomes free notifies nobody: a driver is woken by the end of its own runs, and looks again after a while
//! for those of others.

mod account;
mod file;
mod quotas;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use belay_agents::quota::ReportedQuota;
use belay_core::{Digest, Timestamp};
use belay_ipc::views::QuotaView;
use serde::{Deserialize, Serialize};

pub use account::AccountId;

use file::LimitFile;
use quotas::Quotas;

/// A limit that resets sooner is left to the agent's own retries.
pub const MIN_LIMIT: Duration = Duration::from_secs(60);
/// How long a limit lasts if the agent does not say.
const UNKNOWN_LIMIT: Duration = Duration::from_secs(15 * 60);
/// An agent that names a later time is not believed: its clock or ours is wrong.
const MAX_LIMIT: Duration = Duration::from_secs(8 * 24 * 3600);
/// Maximum number of limits; the one that resets first is dropped.
const MAX_LIMITS: usize = 64;
/// A response that ends this soon after the limit was hit may have begun before.
const IN_FLIGHT: Duration = Duration::from_secs(60);

/// The limits of all accounts. Clones share them.
#[derive(Clone, Debug)]
pub struct Limits(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    file: LimitFile,
}

#[derive(Debug, Default)]
struct State {
    /// Also those that have reset, until a model answers.
    limits: BTreeMap<AccountId, Limit>,
    /// Limits that an answer has ended before they reset.
    ended_early: BTreeMap<AccountId, EndedEarly>,
    /// Runs in progress.
    runs: BTreeMap<AccountId, usize>,
    quotas: Quotas,
    /// Something changed since the file was written.
    is_dirty: bool,
}

/// A limit of one account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    pub until: Timestamp,
    /// When it was last hit.
    #[serde(default)]
    pub hit_at: Timestamp,
    /// The agent's words.
    pub message: String,
    /// It was hit again although a model had answered. It may be that of one model, while the answers were those of
    /// another: they do not end it before it resets.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outlives_answers: bool,
}

/// A limit that an answer has ended before it reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct EndedEarly {
    /// When it would have reset.
    until: Timestamp,
    answered_at: Timestamp,
}

/// Whether a run may start now.
#[derive(Debug)]
pub enum Admission {
    /// It may, and counts as a run of its account until the slot is dropped.
    Go(Slot),
    /// The account has as many runs as it may have, or one of them finds out whether a limit is over. Ask again later.
    Busy,
    Limited(Limit),
}

/// The place of a run among those of its account. Free again when dropped.
#[derive(Debug)]
#[must_use = "the place is free again when this is dropped"]
pub struct Slot {
    limits: Limits,
    account: AccountId,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.limits.lock();
        if let Some(runs) = state.runs.get_mut(&self.account) {
            *runs -= 1;
            if *runs == 0 {
                state.runs.remove(&self.account);
            }
        }
    }
}

impl Limits {
    /// Reads what earlier processes knew in the state directory. Damaged files count as empty: the next limit and the next
    /// report tell again.
    pub fn load(state_dir: &Path) -> Self {
        let file = LimitFile::new(state_dir);
        let state = file.read();
        Self(Arc::new(Shared { state: Mutex::new(state), file }))
    }

    /// Whether a run of the account may start, if `most` may run at once.
    pub fn admit(&self, account: &AccountId, most: usize, now: Timestamp) -> Admission {
        let mut state = self.lock();
        let runs = state.runs.get(account).copied().unwrap_or(0);
        let most = match state.limits.get(account) {
            Some(limit) if limit.until > now => return Admission::Limited(limit.clone()),
            // It should have reset, but no model has answered since.
            Some(_) => 1,
            None => most.max(1),
        };
        if runs >= most {
            return Admission::Busy;
        }
        Admission::Go(self.take(&mut state, account))
    }

    /// Counts a run that a process before this one has started.
    pub fn adopt(&self, account: &AccountId) -> Slot {
        self.take(&mut self.lock(), account)
    }

    /// An account has reached a limit; `until` is what its agent or provider names. Returns until when the limit holds. One
    /// that resets within [`MIN_LIMIT`] is not recorded.
    pub fn hit(&self, account: &AccountId, until: Option<Timestamp>, message: &str, now: Timestamp) -> Timestamp {
        self.record(self.lock(), account, until, message, now)
    }

    /// A provider refused a single request until a time. A longer limit holds on: the request may have hit another one.
    pub fn refused(&self, account: &AccountId, until: Timestamp, message: &str, now: Timestamp) {
        let state = self.lock();
        match state.limits.get(account).filter(|limit| limit.until > until.max(now)).cloned() {
            Some(Limit { until, message, .. }) => self.record(state, account, Some(until), &message, now),
            None => self.record(state, account, Some(until), message, now),
        };
    }

    fn record(
        &self,
        mut state: MutexGuard<'_, State>,
        account: &AccountId,
        until: Option<Timestamp>,
        message: &str,
        now: Timestamp,
    ) -> Timestamp {
        let credible = until.filter(|until| *until > now && *until < now + MAX_LIMIT);
        if let Some(until) = credible.filter(|until| until.saturating_since(now) < MIN_LIMIT) {
            return until;
        }
        let until = credible.or_else(|| state.resets_at(account, now)).unwrap_or(now + UNKNOWN_LIMIT);
        state.ended_early.retain(|_, ended| ended.until > now);
        // An older event may be read once more after a restart.
        let is_hit_again = state.ended_early.get(account).is_some_and(|ended| ended.answered_at < now);
        let outlived = state.limits.get(account).is_some_and(|limit| limit.outlives_answers && limit.until > now);
        let outlives_answers = is_hit_again || outlived;
        let limit = Limit { until, hit_at: now, message: message.to_owned(), outlives_answers };
        let known = state.limits.insert(account.clone(), limit);
        state.limits.retain(|_, limit| limit.until + MAX_LIMIT > now);
        drop_first(&mut state.limits, |limit| limit.until);
        // Agents that retry report the same limit again and again.
        state.is_dirty |= known.is_none_or(|known| (known.until, known.outlives_answers) != (until, outlives_answers));
        drop(state);
        self.save();
        until
    }

    /// A model has answered a request of the account at this time. A limit that was hit before is over, unless it has
    /// turned out to be that of another model.
    pub fn answered(&self, account: &AccountId, at: Timestamp) {
        let mut state = self.lock();
        let holds = |limit: &Limit| at < limit.hit_at + IN_FLIGHT || (limit.outlives_answers && at < limit.until);
        let Some(limit) = state.limits.get(account).filter(|limit| !holds(limit)) else { return };
        let ended = EndedEarly { until: limit.until, answered_at: at };
        state.limits.remove(account);
        if ended.until > at {
            state.ended_early.insert(account.clone(), ended);
            drop_first(&mut state.ended_early, |ended| ended.until);
        }
        state.is_dirty = true;
        drop(state);
        self.save();
    }

    /// Whether an answer of this account would end a limit.
    pub fn awaits_answer(&self, account: &AccountId) -> bool {
        self.lock().limits.contains_key(account)
    }

    /// Whether an answer of some account would end a limit.
    pub fn awaits_answers(&self) -> bool {
        !self.lock().limits.is_empty()
    }

    /// When the account's limit resets, as far as known: for an agent that only says that there is one.
    pub fn resets_at(&self, account: &AccountId, now: Timestamp) -> Option<Timestamp> {
        self.lock().resets_at(account, now)
    }

    /// A provider reported quotas `at` a time. `credential`: the digest of the key that was used, if known. An older report
    /// does not replace a newer one. Only memory changes; [`Limits::save`] writes it.
    pub fn report(&self, account: &AccountId, credential: Option<Digest>, quotas: Vec<ReportedQuota>, at: Timestamp) {
        let mut state = self.lock();
        state.is_dirty |= state.quotas.report(account, credential, quotas, at);
    }

    /// The quotas that still hold, by account.
    pub fn view(&self, now: Timestamp) -> Vec<QuotaView> {
        self.lock().quotas.view(now)
    }

    /// Writes the file, if there is something new.
    pub fn save(&self) {
        let written = self.0.file.write(|| {
            let mut state = self.lock();
            std::mem::take(&mut state.is_dirty).then(|| file::encode(&state))
        });
        if let Err(error) = written {
            tracing::warn!(%error, file = %self.0.file.path().display(), "cannot store usage limits; a restart forgets them");
            self.lock().is_dirty = true;
        }
    }

    fn take(&self, state: &mut State, account: &AccountId) -> Slot {
        *state.runs.entry(account.clone()).or_default() += 1;
        Slot { limits: self.clone(), account: account.clone() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Drops what resets first while there is too much.
fn drop_first<V>(limits: &mut BTreeMap<AccountId, V>, until: impl Fn(&V) -> Timestamp) {
    while limits.len() > MAX_LIMITS {
        let first = limits.iter().min_by_key(|(_, limit)| until(limit)).map(|(account, _)| account.clone());
        first.map(|account| limits.remove(&account));
    }
}

impl State {
    fn resets_at(&self, account: &AccountId, now: Timestamp) -> Option<Timestamp> {
        let limit = self.limits.get(account).map(|limit| limit.until).filter(|until| *until > now);
        limit.or_else(|| self.quotas.resets_at(account, now))
    }
}
