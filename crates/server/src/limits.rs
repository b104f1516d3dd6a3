//! What this process learns about the limits of accounts: from the events of every session, and from what providers
//! report. Whether a run may start, [`Limits`](belay_drive::limits::Limits) answers.

mod session_files;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use belay_clock::now;
use belay_core::{Body, Event, SessionKey, Source, Timestamp};
use belay_drive::limits::{AccountId, Limits};
use belay_store::{EventQuery, Order, SessionRow, Store};

use crate::follower::{EventKinds, LogEntry, LogSubscriber, newest_position};
use crate::state::DaemonState;

pub(crate) use session_files::SessionFileQuotas;

const LIMITS: &[&str] = &["limit_hit", "model_failed"];
const LIMITS_AND_ANSWERS: &[&str] = &["limit_hit", "model_failed", "model_answered"];

const ANSWERS: &[&str] = &["model_answered"];

/// Newest events of the log that are searched at start, for limits as for the answers that have ended them.
const MAX_MISSED: u32 = 5_000;

/// HTTP 429.
const TOO_MANY_REQUESTS: u16 = 429;

/// A limit without a reset time says nothing about now once it is this old: session files are read late, and old ones are
/// imported.
const MAX_AGE: Duration = Duration::from_secs(15 * 60);

/// How deep sub-agents of sub-agents are looked at.
const MAX_DEPTH: u32 = 4;

/// Learns from the log that accounts are limited, and that they no longer are.
pub(crate) struct LimitFeed(pub(crate) Arc<DaemonState>);

impl LimitFeed {
    /// Learns what was recorded while no resident process ran, or just before the last one was killed.
    pub(crate) fn catch_up(&self) -> belay_store::Result<()> {
        let store = self.0.readers.get()?;
        let after = newest_position(&*store)?.saturating_sub(MAX_MISSED.into());
        // The order does not matter: an answer counts by its time.
        for kinds in [LIMITS, ANSWERS] {
            if kinds == ANSWERS && !self.0.limits.awaits_answers() {
                break;
            }
            let query = EventQuery {
                after: Some(after),
                kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
                order: Order::Last,
                limit: usize::try_from(MAX_MISSED).unwrap_or(usize::MAX),
                ..EventQuery::default()
            };
            let entries: Vec<LogEntry> = store.events(&query)?.into_iter().map(LogEntry::from).collect();
            self.on_events(&entries.iter().collect::<Vec<_>>());
        }
        Ok(())
    }
}

impl LogSubscriber for LimitFeed {
    /// Answers are frequent, and matter only while an account is limited.
    fn kinds(&self) -> EventKinds {
        EventKinds::Only(if self.0.limits.awaits_answers() { LIMITS_AND_ANSWERS } else { LIMITS })
    }

    fn on_events(&self, events: &[&LogEntry]) {
        let mut accounts = HashMap::new();
        for event in events.iter().filter_map(|entry| entry.event()) {
            let Some(change) = change(event, now()) else { continue };
            let account =
                accounts.entry(event.session.clone()).or_insert_with(|| session_account(&self.0, &event.session));
            change.apply(&self.0.limits, account);
        }
    }
}

/// What an event tells about the limit of its account.
#[derive(Debug, PartialEq)]
enum LimitChange<'e> {
    Hit {
        until: Option<Timestamp>,
        message: &'e str,
        at: Timestamp,
    },
    /// A single request was refused; it may have been one for a title.
    Refused {
        until: Timestamp,
        message: &'e str,
        at: Timestamp,
    },
    Answered {
        at: Timestamp,
    },
}

impl LimitChange<'_> {
    fn apply(&self, limits: &Limits, account: &AccountId) {
        match *self {
            Self::Hit { until, message, at } => drop(limits.hit(account, until, message, at)),
            Self::Refused { until, message, at } => limits.refused(account, until, message, at),
            Self::Answered { at } => limits.answered(account, at),
        }
    }
}

fn change(event: &Event, now: Timestamp) -> Option<LimitChange<'_>> {
    // The guided trial talks to a model that answers by script. What an agent posts without the token must not stop others.
    if event.session.is_trial() || event.source == Source::Unverified {
        return None;
    }
    let at = if event.at.is_known() { event.at.min(now) } else { now };
    let (until, message) = match &event.body {
        Body::LimitHit(limit) => (limit.resets_at, limit.what.as_str()),
        // Without a time, it is one of the short ones that agents wait for by themselves.
        Body::ModelFailed(failed) if failed.status == Some(TOO_MANY_REQUESTS) => {
            let until = failed.retry_at.filter(|until| *until > now)?;
            return Some(LimitChange::Refused { until, message: failed.message.as_str(), at });
        }
        // Requests for a title and the like use other models, which have limits of their own.
        Body::ModelAnswered(answer) if !answer.auxiliary => return Some(LimitChange::Answered { at }),
        _ => return None,
    };
    let is_over = match until {
        Some(until) => until <= now,
        None => now.saturating_since(at) >= MAX_AGE,
    };
    (!is_over).then_some(LimitChange::Hit { until, message, at })
}

/// The account of a session; without a readable store, that of the agent's usual directory.
pub(crate) fn session_account(daemon: &DaemonState, session: &SessionKey) -> AccountId {
    let home = daemon.config.paths.user_home();
    let found = daemon.readers.get().and_then(|store| {
        let Some(row) = store.session(session)? else { return Ok(None) };
        row_account(&*store, &row, home).map(Some)
    });
    found.ok().flatten().unwrap_or_else(|| account(session, None, home))
}

/// The account of a session, by the place of its session file. Sub-agents without one use that of their parent.
pub(crate) fn row_account(store: &dyn Store, row: &SessionRow, home: Option<&Path>) -> belay_store::Result<AccountId> {
    let mut transcript = row.details.facts.transcript.clone();
    let mut parent = row.parent.clone();
    for _ in 0..MAX_DEPTH {
        let Some(key) = parent.take().filter(|_| transcript.is_none()) else { break };
        let Some(row) = store.session(&key)? else { break };
        (transcript, parent) = (row.details.facts.transcript, row.parent);
    }
    Ok(account(&row.key, transcript.as_deref(), home))
}

fn account(session: &SessionKey, transcript: Option<&str>, home: Option<&Path>) -> AccountId {
    match belay_agents::find(session.agent.as_ref()) {
        Some(agent) => AccountId::from_transcript(agent, transcript.map(Path::new), home),
        None => AccountId::from_name(session.agent.as_ref()),
    }
}
