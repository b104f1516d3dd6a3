//! Takes the news out of the outbox to people and programs.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use belay_alerts::{Channels, Dispatcher, Outbox, Webhook};
use belay_config::{Config, EnvSnapshot, WebhookFormat};
use belay_store::{MessageState, Store, StoreError};

use crate::housekeeping::now;
use crate::state::DaemonState;

/// How often the outbox is looked at: news may wait this long.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Messages looked at to tell whether one is due. Should there be more, those behind them...
const PEEK_LIMIT: usize = 64;

/// ...have their turn after this long all the same.
const FORCED_ROUND_INTERVAL: Duration = Duration::from_secs(30);

/// Goes its rounds until the end.
pub(crate) fn run(shared: &DaemonState, channels: Channels) {
    let courier = Dispatcher::new(channels);
    let mut last = Instant::now();
    while !shared.lifecycle.shutdown.wait_for(POLL_INTERVAL) {
        if !is_due(shared) && last.elapsed() < FORCED_ROUND_INTERVAL {
            continue;
        }
        last = Instant::now();
        if let Err(error) = courier.dispatch_due(&mut Shelf(shared), now()) {
            tracing::warn!(%error, "news could not be taken from the outbox");
        }
    }
}

/// Looking costs no lock; only what is due is worth one.
fn is_due(shared: &DaemonState) -> bool {
    let Ok(store) = shared.readers.get() else { return false };
    let now = now();
    store
        .outbox(Some(MessageState::Pending), PEEK_LIMIT)
        .is_ok_and(|all| all.iter().any(|message| message.next_at <= now))
}

/// Whether anything is still to be told.
pub(crate) fn has_pending_alerts(shared: &DaemonState) -> bool {
    let store = shared.readers.get();
    store.is_ok_and(|store| store.outbox(Some(MessageState::Pending), 1).is_ok_and(|all| !all.is_empty()))
}

struct Shelf<'a>(&'a DaemonState);

impl Outbox for Shelf<'_> {
    fn with_store(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Store) -> belay_store::Result<()>,
    ) -> belay_store::Result<()> {
        self.0.decisions.committer.with_engine(|engine| match engine.store_mut() {
            Some(store) => work(store),
            None => Err(StoreError::Database("it is not open".to_owned())),
        })
    }
}

/// Where news goes, as configured. What cannot be used is said in the log and left out.
pub(crate) fn build_channels(config: &Config, env: &EnvSnapshot) -> Channels {
    let nobody_here = belay_hooks::process::is_ci(env);
    let webhook = build_webhook(config, env).unwrap_or_else(|problem| {
        tracing::error!(%problem, "the webhook cannot be used; nothing is posted");
        None
    });
    Channels { desktop: config.notify.desktop && !nobody_here, webhook }
}

/// The webhook that is configured, or what is wrong with it.
pub fn build_webhook(config: &Config, env: &EnvSnapshot) -> Result<Option<Webhook>, String> {
    let settings = &config.webhook;
    if settings.url.is_empty() {
        return Ok(None);
    }
    let format = match settings.format {
        WebhookFormat::Belay => belay_alerts::WebhookFormat::Belay,
        WebhookFormat::Heartbeat => belay_alerts::WebhookFormat::Heartbeat,
    };
    let host = env.text("HOSTNAME").map(str::to_owned).or_else(host_name).unwrap_or_default();
    let secret = secret(&settings.secret_file, env)?;
    Webhook::new(&settings.url, format, secret.as_deref(), host).map(Some).map_err(|error| error.to_string())
}

/// The signing secret: from the environment, or from the file that the user's configuration names.
fn secret(file: &str, env: &EnvSnapshot) -> Result<Option<String>, String> {
    if let Some(secret) = env.text("BELAY_WEBHOOK_SECRET") {
        return Ok(Some(secret.to_owned()));
    }
    let path = match (file.strip_prefix("~/"), env.text("HOME")) {
        _ if file.is_empty() => return Ok(None),
        (Some(below), Some(home)) => Path::new(home).join(below),
        _ => PathBuf::from(file),
    };
    let read = std::fs::read_to_string(&path);
    read.map(Some).map_err(|error| format!("webhook.secret_file {} cannot be read: {error}", path.display()))
}

fn host_name() -> Option<String> {
    let name = rustix::system::uname();
    name.nodename().to_str().ok().map(str::to_owned)
}
