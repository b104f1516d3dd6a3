//! What has to be done now and then: time passes for sessions that may stall or whose cooldown is
//! over, old history goes, a broken store is tried again, and an idle process leaves.
//!
//! A tick that changes nothing leaves no trace in the log, so it may be sent freely.

use std::collections::HashMap;
use std::time::Duration;

use belay_config::Config;
use belay_core::{Body, Event, SessionKey, SessionState, Source, Timestamp};
use belay_store::{Retention, SessionQuery};

use crate::alert_dispatcher;
use crate::state::DaemonState;

/// A session without an event for this long is told that time passes.
const TICK_AFTER_IDLE: Duration = Duration::from_secs(60);

/// One that has been quiet for longer than this is forgotten about.
const STOP_TICKING_AFTER: Duration = Duration::from_secs(6 * 3600);

/// Sessions looked at in one round.
const MAX_SESSIONS_PER_ROUND: usize = 500;

/// Slices of cleaning up in one round: each takes a few milliseconds, writers get their turn in between.
const MAX_PRUNE_SLICES: usize = 20;

/// How the rounds go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HousekeepingConfig {
    pub(crate) tick: Option<Duration>,
    pub(crate) idle_exit: Option<Duration>,
    pub(crate) retention: Retention,
}

impl HousekeepingConfig {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            tick: config.serve.tick.get(),
            idle_exit: config.serve.idle_exit.get(),
            retention: Retention {
                max_age: config.store.max_age.get().unwrap_or(Duration::MAX),
                max_bytes: config.store.max_bytes.get().unwrap_or(u64::MAX),
            },
        }
    }
}

/// Goes its rounds until the end.
pub(crate) fn run(shared: &DaemonState, plan: HousekeepingConfig) {
    let mut ticks = TickScheduler::default();
    let pace = [plan.tick, plan.idle_exit.map(|idle| idle / 4)].into_iter().flatten().min();
    let pace = pace.unwrap_or(Duration::from_secs(60)).clamp(Duration::from_millis(10), Duration::from_secs(60));
    while !shared.lifecycle.shutdown.wait_for(pace) {
        // Who has news to tell that nobody would take yet is not idle.
        if plan.idle_exit.is_some_and(|idle| shared.lifecycle.idle_for() >= idle)
            && !alert_dispatcher::has_pending_alerts(shared)
        {
            shared.lifecycle.shutdown.set("nothing to do");
            return;
        }
        shared.decisions.committer.with_engine(belay_engine::Engine::recover);
        if plan.tick.is_some() {
            ticks.round(shared);
        }
        prune(shared, &plan.retention);
    }
}

fn prune(shared: &DaemonState, retention: &Retention) {
    let (mut sessions, mut events) = (0, 0);
    for _ in 0..MAX_PRUNE_SLICES {
        match shared.decisions.committer.with_engine(|engine| engine.prune(retention)) {
            Ok(pruned) => {
                sessions += pruned.sessions;
                events += pruned.events;
                if !pruned.more || shared.lifecycle.shutdown.is_set() {
                    break;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "old history could not be cleaned up");
                break;
            }
        }
    }
    if sessions > 0 || events > 0 {
        tracing::info!(sessions, events, "old history was cleaned up");
    }
}

/// Which sessions were told the time, and how quiet they were then.
#[derive(Debug, Default)]
struct TickScheduler {
    told: HashMap<SessionKey, (Timestamp, Duration)>,
}

impl TickScheduler {
    fn round(&mut self, shared: &DaemonState) {
        let now = now();
        let Ok(store) = shared.readers.get() else { return };
        let query = SessionQuery {
            states: vec!["active".to_owned(), "paused".to_owned()],
            since: Some(now - STOP_TICKING_AFTER),
            limit: MAX_SESSIONS_PER_ROUND,
            ..SessionQuery::default()
        };
        let rows = match store.sessions(&query) {
            Ok(page) => page.rows,
            Err(error) => {
                tracing::warn!(%error, "quiet sessions could not be looked up");
                return;
            }
        };
        let mut due = Vec::new();
        let mut told = HashMap::new();
        for row in rows {
            let last_at = row.details.facts.last_at;
            let quiet = now.saturating_since(last_at);
            let before = self.told.get(&row.key).filter(|(at, _)| *at == last_at).map(|(_, quiet)| *quiet);
            let is_due = match row.state.effective() {
                SessionState::Paused { until, .. } => until.is_some_and(|until| until <= now),
                // The longer the silence, the less often it is looked at: one that has lasted an hour
                // is not told a minute more exactly.
                _ => quiet >= TICK_AFTER_IDLE && before.is_none_or(|before| quiet >= before + before / 8),
            };
            if is_due {
                told.insert(row.key.clone(), (last_at, quiet));
                due.push(Event::new(uuid::Uuid::now_v7(), row.key, Source::Timer, now, Body::Tick));
            } else if let Some(before) = before {
                told.insert(row.key, (last_at, before));
            }
        }
        self.told = told;
        drop(store);
        for answer in shared.decisions.committer.observe(due) {
            if let Err(error) = answer {
                tracing::warn!(%error, "a session could not be told that time passes");
            }
        }
    }
}

/// The time of day.
pub(crate) fn now() -> Timestamp {
    use belay_engine::Clock;
    belay_engine::SystemClock::default().now()
}

#[cfg(test)]
mod tests;
