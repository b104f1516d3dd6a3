//! Takes the news out of the outbox to people and programs.

use std::time::Duration;

use belay_alerts::{Channels, Courier, Format, Outbox, Webhook};
use belay_config::{Config, Env, WebhookFormat};
use belay_store::{MessageState, Result, Store, StoreError};

use crate::housekeeping::now;
use crate::resident::Shared;

/// How often the outbox is looked at: news may wait this long.
const PACE: Duration = Duration::from_millis(500);

/// Messages looked at to tell whether one is due.
const GLANCE: usize = 64;

/// Goes its rounds until the end.
pub(crate) fn run(shared: &Shared, channels: Channels) {
    let courier = Courier::new(channels);
    while !shared.stop.wait_for(PACE) {
        if !is_due(shared) {
            continue;
        }
        if let Err(error) = courier.round(&mut Shelf(shared), now()) {
            tracing::warn!(%error, "news could not be taken from the outbox");
        }
    }
}

/// Looking costs no lock; only what is due is worth one.
fn is_due(shared: &Shared) -> bool {
    let Ok(store) = shared.readers.get() else { return false };
    let now = now();
    store.outbox(Some(MessageState::Pending), GLANCE).is_ok_and(|all| all.iter().any(|message| message.next_at <= now))
}

struct Shelf<'a>(&'a Shared);

impl Outbox for Shelf<'_> {
    fn with_store(&mut self, work: &mut dyn FnMut(&mut dyn Store) -> Result<()>) -> Result<()> {
        self.0.writer.with_engine(|engine| match engine.store_mut() {
            Some(store) => work(store),
            None => Err(StoreError::Database("it is not open".to_owned())),
        })
    }
}

/// Where news goes, as configured. What cannot be used is said in the log and left out.
pub(crate) fn channels(config: &Config, env: &Env) -> Channels {
    let nobody_here = belay_hooks::thin::is_ci(env);
    Channels { desktop: config.notify.desktop && !nobody_here, webhook: webhook(config, env) }
}

fn webhook(config: &Config, env: &Env) -> Option<Webhook> {
    let settings = &config.webhook;
    if settings.url.is_empty() {
        return None;
    }
    let secret = match settings.secret_file.as_str() {
        "" => None,
        file => match std::fs::read_to_string(file) {
            Ok(secret) => Some(secret),
            Err(error) => {
                tracing::error!(%error, file, "webhook.secret_file cannot be read; nothing is posted");
                return None;
            }
        },
    };
    let format = match settings.format {
        WebhookFormat::Belay => Format::Belay,
        WebhookFormat::Heartbeat => Format::Heartbeat,
    };
    let host = env.text("HOSTNAME").map(str::to_owned).or_else(host_name).unwrap_or_default();
    match Webhook::new(&settings.url, format, secret.as_deref(), host) {
        Ok(webhook) => Some(webhook),
        Err(error) => {
            tracing::error!(%error, "the webhook cannot be used; nothing is posted");
            None
        }
    }
}

fn host_name() -> Option<String> {
    let name = rustix::system::uname();
    name.nodename().to_str().ok().map(str::to_owned)
}
