//! The rounds: take what is due, tell it, note how that went.

use std::time::Duration;

use belay_core::Timestamp;
use belay_store::{Durability, Message, Result, Store};

use crate::alert::{Alert, AlertKind};
use crate::desktop;
use crate::webhook::Webhook;

/// Nobody else gets a message for this long after we took it.
const CLAIM_LEASE: Duration = Duration::from_secs(120);

/// News older than this is not shown on the desktop any more.
const DESKTOP_MAX_AGE: Duration = Duration::from_secs(900);

/// Messages taken at once.
const MAX_MESSAGES_PER_ROUND: usize = 16;

/// Pauses between tries; after the last one a message is given up.
const RETRY_DELAYS_SECS: &[u64] = &[5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800];

/// Where news goes.
#[derive(Debug, Default)]
pub struct Channels {
    /// Notifications on the desktop.
    pub desktop: bool,
    pub webhook: Option<Webhook>,
}

/// The store as the courier needs it: taken for a moment, never while something is being sent.
pub trait Outbox {
    fn with_store(&mut self, work: &mut dyn FnMut(&mut dyn Store) -> Result<()>) -> Result<()>;
}

/// Tells news.
#[derive(Debug, Default)]
pub struct Dispatcher {
    channels: Channels,
}

impl Dispatcher {
    pub fn new(channels: Channels) -> Self {
        Self { channels }
    }

    /// Tells what is due. Returns how many messages that were; ask again at once when it is many.
    pub fn dispatch_due(&self, outbox: &mut dyn Outbox, now: Timestamp) -> Result<usize> {
        let mut due = Vec::new();
        outbox.with_store(&mut |store| {
            let mut transaction = store.begin(Durability::ProcessCrash)?;
            due = transaction.claim_due(now, CLAIM_LEASE, MAX_MESSAGES_PER_ROUND)?;
            transaction.commit()
        })?;
        for message in &due {
            let told = self.tell(message, now);
            outbox.with_store(&mut |store| {
                let mut transaction = store.begin(Durability::ProcessCrash)?;
                match &told {
                    Ok(()) => transaction.mark_sent(message.id, now)?,
                    Err(problem) => transaction.mark_failed(message.id, problem, again_at(message, now))?,
                }
                transaction.commit()
            })?;
            // Said when it is noted: who reads the log finds the store in agreement.
            match &told {
                Ok(()) => tracing::info!(news = message.key, "news was told"),
                Err(problem) => {
                    let (news, attempts) = (&message.key, message.attempts);
                    tracing::warn!(news, attempts, %problem, "a webhook was not delivered");
                }
            }
        }
        Ok(due.len())
    }

    fn tell(&self, message: &Message, now: Timestamp) -> std::result::Result<(), String> {
        let Some(news) = Alert::from_message(message) else { return Ok(()) };
        // Shown once and while it is news: hours later it would only confuse.
        let fresh = message.attempts <= 1 && now.saturating_since(news.at) <= DESKTOP_MAX_AGE;
        if self.channels.desktop
            && fresh
            && news.kind != AlertKind::Updated
            // Whoever sits here did it, and knows.
            && !news.is_operator_decision()
            && let Err(problem) = desktop::show(&news)
        {
            tracing::info!(%problem, "no notification on the desktop");
        }
        match &self.channels.webhook {
            Some(webhook) => webhook.post(&news, now),
            None => Ok(()),
        }
    }
}

/// When a message that failed is due again; `None` to give it up.
fn again_at(message: &Message, now: Timestamp) -> Option<Timestamp> {
    let tries = usize::try_from(message.attempts.max(1)).unwrap_or(usize::MAX);
    RETRY_DELAYS_SECS.get(tries - 1).map(|seconds| now + Duration::from_secs(*seconds))
}

#[cfg(test)]
mod tests;
