//! One delivery: claim, attempt, record.

use std::time::Duration;

use belay_core::Timestamp;
use belay_store::{AttemptResult, Delivery, Durability, Result, Store, Transaction};

use crate::alert::Alert;
use crate::channel::Channel;

/// Longer than any attempt takes, so that a delivery in flight is not claimed again.
const CLAIM_LEASE: Duration = Duration::from_secs(120);

/// The store and the clock as the dispatcher uses them.
pub trait Outbox: Send + Sync {
    /// The wall clock.
    fn now(&self) -> Timestamp;

    /// Calls `work` with the store for reading.
    fn read(&self, work: &mut dyn FnMut(&dyn Store) -> Result<()>) -> Result<()>;

    /// Calls `work` with the store for writing. Never called while an alert is being sent.
    fn write(&self, work: &mut dyn FnMut(&mut dyn Store) -> Result<()>) -> Result<()>;
}

/// Commits what `work` does.
pub(crate) fn transact<T>(
    outbox: &dyn Outbox,
    mut work: impl FnMut(&mut dyn Transaction) -> Result<T>,
) -> Result<Option<T>> {
    let mut done = None;
    outbox.write(&mut |store| {
        let mut transaction = store.begin(Durability::ProcessCrash)?;
        done = Some(work(&mut *transaction)?);
        transaction.commit()
    })?;
    Ok(done)
}

/// Delivers the oldest due delivery; `false` if none is due.
pub(crate) fn deliver_next(channel: &dyn Channel, outbox: &dyn Outbox) -> Result<bool> {
    let now = outbox.now();
    let claimed = transact(outbox, |transaction| transaction.claim_delivery(channel.name(), now, CLAIM_LEASE))?;
    let Some(delivery) = claimed.flatten() else { return Ok(false) };
    let result = attempt(channel, &delivery, now);
    let now = outbox.now();
    transact(outbox, |transaction| transaction.record_attempt(&delivery, &result, now))?;
    log(&delivery, &result);
    Ok(true)
}

fn attempt(channel: &dyn Channel, delivery: &Delivery, now: Timestamp) -> AttemptResult {
    let alert = match Alert::from_message(&delivery.message) {
        Ok(alert) => alert,
        Err(error) => return AttemptResult::Failed { error: format!("the message is not an alert: {error}") },
    };
    if !channel.accepts(&alert, now) {
        return AttemptResult::Skipped;
    }
    let Err(error) = channel.deliver(&alert, now) else { return AttemptResult::Sent };
    let error = error.to_string();
    let retry = usize::try_from(delivery.attempts.saturating_sub(1)).unwrap_or(usize::MAX);
    match channel.retry_delays().get(retry) {
        Some(&after) => AttemptResult::Retry { error, after },
        None => AttemptResult::Failed { error },
    }
}

fn log(delivery: &Delivery, result: &AttemptResult) {
    let Delivery { channel, attempts, message, .. } = delivery;
    let alert = &message.key;
    match result {
        AttemptResult::Sent => tracing::info!(channel, alert, attempts, "alert delivered"),
        AttemptResult::Skipped => tracing::info!(channel, alert, "alert skipped"),
        AttemptResult::Retry { error, after } => {
            tracing::warn!(channel, alert, attempts, error, retry_after = ?after, "alert not delivered");
        }
        AttemptResult::Failed { error } => {
            tracing::warn!(channel, alert, attempts, error, "alert not delivered and not retried");
        }
    }
}

#[cfg(test)]
mod tests;
