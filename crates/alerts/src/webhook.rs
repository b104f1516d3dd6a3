//! A POST to where the user's own configuration says.

mod address;
mod http;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use belay_core::Time;
use serde_json::{Value, json};

use crate::news::{Kind, News};
pub use address::{Address, AddressError};

/// How long one try may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Shape of the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Our own.
    #[default]
    Belay,
    /// The shape of heartbeat's webhook, for receivers that know it.
    Heartbeat,
}

/// A receiver.
#[derive(Debug)]
pub struct Webhook {
    address: Address,
    format: Format,
    secret: Option<Secret>,
    /// The name of this machine, for heartbeat's shape.
    host: String,
}

/// A signing secret. Shown to nobody.
struct Secret(ring::hmac::Key);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Why a webhook cannot be used as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    #[error("webhook.url: {0}")]
    Address(#[from] AddressError),
    #[error("the signing secret must be `whsec_` and base64, 24 to 64 bytes of it")]
    Secret,
}

impl Webhook {
    /// `secret` as Standard Webhooks writes it: `whsec_<base64>`; without one nothing is signed.
    pub fn new(url: &str, format: Format, secret: Option<&str>, host: String) -> Result<Self, WebhookError> {
        let address = Address::parse(url)?;
        let secret = secret.map(str::trim).filter(|secret| !secret.is_empty()).map(key).transpose()?;
        Ok(Self { address, format, secret, host })
    }

    /// Where it goes, without what may be secret in it.
    pub fn describe(&self) -> String {
        let signed = if self.secret.is_some() { "signed" } else { "unsigned" };
        format!("{:?}, {signed}", self.address)
    }

    /// Delivers news, or says why it could not.
    pub fn post(&self, news: &News, now: Time) -> Result<(), String> {
        let body = body(self.format, news, &self.host).to_string();
        let timestamp = (now.millis() / 1000).to_string();
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("user-agent", concat!("belay/", env!("CARGO_PKG_VERSION")).to_owned()),
            ("webhook-id", news.id.clone()),
            ("webhook-timestamp", timestamp.clone()),
        ];
        if let Some(Secret(key)) = &self.secret {
            headers.push(("webhook-signature", signature(key, &news.id, &timestamp, &body)));
        }
        let status = http::post(&self.address, &headers, body.as_bytes(), PATIENCE)?;
        match status {
            200..=299 => Ok(()),
            // A redirect could lead anywhere; whoever moved can say so in the configuration.
            300..=399 => Err(format!("the receiver answered {status}, a redirect, which is not followed")),
            _ => Err(format!("the receiver answered {status}")),
        }
    }
}

fn key(secret: &str) -> Result<Secret, WebhookError> {
    let encoded = secret.strip_prefix("whsec_").ok_or(WebhookError::Secret)?;
    let bytes = STANDARD.decode(encoded).map_err(|_| WebhookError::Secret)?;
    match bytes.len() {
        24..=64 => Ok(Secret(ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &bytes))),
        _ => Err(WebhookError::Secret),
    }
}

/// `v1,<base64 of HMAC-SHA256 over id.timestamp.body>`.
fn signature(key: &ring::hmac::Key, id: &str, timestamp: &str, body: &str) -> String {
    let signed = ring::hmac::sign(key, format!("{id}.{timestamp}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(signed))
}

fn body(format: Format, news: &News, host: &str) -> Value {
    match format {
        Format::Belay => json!({
            "type": news.kind.word(),
            "timestamp": news.at,
            "data": {
                "session": news.session,
                "project": news.project,
                "pattern": news.pattern,
                "sentence": news.sentence,
                "incident": news.incident,
                "text": news.text(),
            },
        }),
        Format::Heartbeat => json!({
            "event": if matches!(news.kind, Kind::Nudged | Kind::Updated) { "intervention" } else { "escalation" },
            "pattern": news.pattern.as_deref().map_or_else(|| "operator".to_owned(), |name| name.replace('_', "-")),
            "message": news.text(),
            "timestamp": news.at,
            "host": host,
            "cwd": news.project.as_deref().unwrap_or_default(),
        }),
    }
}

#[cfg(test)]
mod tests;
