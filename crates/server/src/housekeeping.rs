//! Periodic work: ticks for sessions that may have stalled or whose cooldown ended, pruning, checkpoints, recovery of a
//! failed store, events that hooks saved, and exit when idle.
//!
//! A tick without effect is not recorded, so it is cheap to send.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use belay_clock::now;
use belay_config::Config;
use belay_core::{Body, Event, SessionKey, SessionState, Source, Timestamp};
use belay_engine::{SpoolDir, TakenIn};
use belay_store::{ChangeToken, Pruned, Retention, SessionQuery};

use crate::alert_dispatcher;
use crate::state::DaemonState;

/// A session gets a tick after this long without an event.
const TICK_AFTER_IDLE: Duration = Duration::from_secs(60);

/// A session gets no more ticks after this long without an event.
const STOP_TICKING_AFTER: Duration = Duration::from_secs(6 * 3600);

/// Sessions considered in one round.
const MAX_SESSIONS_PER_ROUND: usize = 500;

/// Between slices, pruning rests for this multiple of the duration of the last slice: writers have the store for three
/// quarters of the time. The further the store is above its limit, the shorter the rest.
const PRUNE_REST: u32 = 3;

/// The minimum rest, in which a waiting writer gets the engine.
const MIN_PRUNE_REST: Duration = Duration::from_millis(1);

/// How often the size of the store is compared with its limit.
const SIZE_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// How often it is checked whether hooks have saved events.
const SPOOL_INTERVAL: Duration = Duration::from_secs(1);

/// The write-ahead log is checkpointed after this long without a write.
const QUIET_BEFORE_CHECKPOINT: Duration = Duration::from_secs(60);

/// Configuration of housekeeping.
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

/// Runs housekeeping until shutdown.
pub(crate) fn run(daemon: &DaemonState, plan: HousekeepingConfig) {
    let mut ticks = TickScheduler::default();
    let interval = [plan.tick, plan.idle_exit.map(|idle| idle / 4)].into_iter().flatten().min();
    let interval =
        interval.unwrap_or(Duration::from_secs(60)).clamp(Duration::from_millis(10), Duration::from_secs(60));
    let (mut pruner, mut checkpoints) = (Pruner::default(), CheckpointTimer::default());
    let mut next_round = Instant::now() + interval;
    let mut spool = SpoolReader::default();
    spool.take_in(daemon);
    let mut last_spool_check = Instant::now();
    loop {
        let wait = next_round.saturating_duration_since(Instant::now());
        let wait = wait.min(pruner.rest.unwrap_or(SIZE_CHECK_INTERVAL));
        if daemon.lifecycle.shutdown.wait_for(wait) {
            return;
        }
        let is_round = Instant::now() >= next_round;
        if is_round {
            next_round = Instant::now() + interval;
            // A process with pending alerts is not idle: a delivery may be retried hours later.
            if plan.idle_exit.is_some_and(|idle| daemon.lifecycle.is_idle(idle))
                && !alert_dispatcher::has_pending_alerts(daemon)
                && !daemon.live.has_clients()
                // Otherwise the agent of a killed `belay run` could not reach its model.
                && daemon.runs.store.live_addresses().is_empty()
                && !daemon.reviews.is_busy()
                && daemon.tickets.is_empty()
            {
                daemon.lifecycle.shutdown.set("idle");
                return;
            }
            if let Some(relay) = daemon.runs.relay() {
                daemon.runs.store.end_exited(&relay);
            }
            daemon.decisions.committer.with_engine(belay_engine::Engine::recover);
            daemon.logins.save_if_dirty();
            if plan.tick.is_some() {
                ticks.round(daemon);
            }
            checkpoints.round(daemon);
        }
        if is_round || last_spool_check.elapsed() >= SPOOL_INTERVAL {
            last_spool_check = Instant::now();
            spool.take_in(daemon);
        }
        if is_round || pruner.rest.is_some() || daemon.config.store().disk_bytes() > plan.retention.max_bytes {
            pruner.slice(daemon, &plan.retention);
        }
    }
}

/// Records the events that hooks could not write while the store was locked.
#[derive(Debug, Default)]
struct SpoolReader {
    /// The last problem, which is logged once.
    problem: Option<String>,
}

impl SpoolReader {
    fn take_in(&mut self, daemon: &DaemonState) {
        let taken = SpoolDir::new(daemon.config.paths.spool()).take_in(&daemon.decisions.committer, usize::MAX);
        if let Ok(TakenIn { files: 1.., events, .. }) = taken {
            tracing::info!(events, "recorded the saved events of hooks");
        }
        let problem = taken.err().map(|error| error.to_string());
        if let Some(problem) = problem.as_ref().filter(|_| problem != self.problem) {
            tracing::warn!(problem, "cannot record the saved events of hooks");
        }
        self.problem = problem;
    }
}

/// Prunes in slices for a share of the time that grows with what there is to delete.
#[derive(Debug, Default)]
struct Pruner {
    /// How long to rest before the next slice; `None` if there is nothing more to prune.
    rest: Option<Duration>,
    /// The total since the last log line.
    pruned: Pruned,
}

impl Pruner {
    fn slice(&mut self, daemon: &DaemonState, retention: &Retention) {
        let began = Instant::now();
        let slice = match daemon.decisions.committer.with_engine(|engine| engine.prune(retention)) {
            Ok(slice) => slice,
            Err(error) => {
                tracing::warn!(%error, "pruning failed");
                Pruned::default()
            }
        };
        self.pruned.sessions += slice.sessions;
        self.pruned.events += slice.events;
        self.rest = slice.more.then(|| rest_after(began.elapsed(), slice.used, retention));
        // Otherwise nothing that may be deleted is left, and writers would wait in vain.
        match slice.more && is_far_above(slice.used, retention) {
            true => daemon.throttle.allow(slice.events),
            false => daemon.throttle.lift(),
        }
        if !slice.more && (self.pruned.sessions > 0 || self.pruned.events > 0) {
            let Pruned { sessions, events, .. } = std::mem::take(&mut self.pruned);
            tracing::info!(sessions, events, "pruned old sessions");
        }
    }
}

/// The rest after a slice: [`PRUNE_REST`] times its duration at the limit, the minimum at twice the limit.
fn rest_after(slice: Duration, used: u64, retention: &Retention) -> Duration {
    let max = retention.max_bytes.max(1);
    let below_twice = max.saturating_mul(2).saturating_sub(used).min(max);
    (slice * PRUNE_REST).mul_f64(below_twice as f64 / max as f64).max(MIN_PRUNE_REST)
}

/// Whether writers must not write more than is deleted: the store and its write-ahead log stay below twice the limit.
fn is_far_above(used: u64, retention: &Retention) -> bool {
    used > retention.max_bytes.saturating_add(retention.max_bytes / 2)
}

/// Checkpoints the write-ahead log when the store is idle.
#[derive(Debug, Default)]
struct CheckpointTimer {
    /// The last observed change token, when it was observed, and whether it was checkpointed.
    last: Option<(ChangeToken, Instant, bool)>,
}

impl CheckpointTimer {
    fn round(&mut self, daemon: &DaemonState) {
        let checkpointed = daemon.decisions.committer.with_engine(|engine| {
            let token = engine.store()?.change_token().ok()?;
            self.is_due(token, Instant::now()).then(|| engine.checkpoint())
        });
        match checkpointed {
            Some(Ok(true)) => self.done(),
            Some(Err(error)) => tracing::warn!(%error, "checkpoint failed"),
            Some(Ok(false)) | None => {}
        }
    }

    fn is_due(&mut self, token: ChangeToken, now: Instant) -> bool {
        match self.last {
            Some((last, since, done)) if last == token => !done && now - since >= QUIET_BEFORE_CHECKPOINT,
            _ => {
                self.last = Some((token, now, false));
                false
            }
        }
    }

    fn done(&mut self) {
        if let Some((_, _, done)) = &mut self.last {
            *done = true;
        }
    }
}

/// The sessions that got a tick, with their last event and how long they had been idle.
#[derive(Debug, Default)]
struct TickScheduler {
    ticked: HashMap<SessionKey, (Timestamp, Duration)>,
}

impl TickScheduler {
    fn round(&mut self, daemon: &DaemonState) {
        let now = now();
        let Ok(store) = daemon.readers.get() else { return };
        let query = SessionQuery {
            states: vec!["active".to_owned(), "paused".to_owned()],
            since: Some(now - STOP_TICKING_AFTER),
            limit: MAX_SESSIONS_PER_ROUND,
            ..SessionQuery::default()
        };
        let rows = match store.sessions(&query) {
            Ok(page) => page.rows,
            Err(error) => {
                tracing::warn!(%error, "cannot list idle sessions");
                return;
            }
        };
        let mut due = Vec::new();
        let mut ticked = HashMap::new();
        for row in rows {
            let last_at = row.details.facts.last_at;
            let idle = now.saturating_since(last_at);
            let before = self.ticked.get(&row.key).filter(|(at, _)| *at == last_at).map(|(_, idle)| *idle);
            let is_due = match row.state.effective() {
                SessionState::Paused { until, .. } => until.is_some_and(|until| until <= now),
                // Ticks become rarer as the session stays idle: after an hour, minutes no longer matter.
                _ => idle >= TICK_AFTER_IDLE && before.is_none_or(|before| idle >= before + before / 8),
            };
            if is_due {
                ticked.insert(row.key.clone(), (last_at, idle));
                due.push(Event::new(uuid::Uuid::now_v7(), row.key, Source::Timer, now, Body::Tick));
            } else if let Some(before) = before {
                ticked.insert(row.key, (last_at, before));
            }
        }
        self.ticked = ticked;
        drop(store);
        for result in daemon.decisions.committer.observe(due) {
            if let Err(error) = result {
                tracing::warn!(%error, "tick failed");
            }
        }
    }
}

#[cfg(test)]
mod tests;
