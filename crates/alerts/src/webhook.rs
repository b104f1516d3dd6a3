//! A POST to where the user's own configuration says.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use belay_core::{SessionKey, Timestamp};
use belay_net::{HttpUrl, UrlError, is_local_network, refused_network};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::alert::{Alert, AlertKind};

/// How long one try may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Shape of the body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WebhookFormat {
    /// Our own.
    #[default]
    Belay,
    /// The shape of heartbeat's webhook, for receivers that know it.
    Heartbeat,
}

/// A receiver.
#[derive(Debug)]
pub struct Webhook {
    url: HttpUrl,
    format: WebhookFormat,
    secret: Option<SigningKey>,
    /// The name of this machine, for heartbeat's shape.
    host: String,
}

/// A signing secret. Shown to nobody.
struct SigningKey(ring::hmac::Key);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Why a webhook cannot be used as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    #[error("webhook.url: {0}")]
    Url(#[from] UrlError),
    #[error("webhook.url: Belay does not connect to this address ({0})")]
    Refused(&'static str),
    #[error("webhook.url: plain http is limited to this machine and private networks; use https")]
    PlainHttp,
    #[error("the signing secret must be `whsec_` and base64, 24 to 64 bytes of it")]
    Secret,
}

impl Webhook {
    /// `secret` as Standard Webhooks writes it: `whsec_<base64>`; without one nothing is signed.
    pub fn new(url: &str, format: WebhookFormat, secret: Option<&str>, host: String) -> Result<Self, WebhookError> {
        let url = checked_url(url)?;
        let secret = secret.map(str::trim).filter(|secret| !secret.is_empty()).map(key).transpose()?;
        Ok(Self { url, format, secret, host })
    }

    /// Where it goes, without what may be secret in it.
    pub fn describe(&self) -> String {
        let signed = if self.secret.is_some() { "signed" } else { "unsigned" };
        format!("{:?}, {signed}", self.url)
    }

    /// Delivers news, or says why it could not.
    pub fn post(&self, news: &Alert, now: Timestamp) -> Result<(), String> {
        let body = body(self.format, news, &self.host).to_string();
        let timestamp = (now.millis() / 1000).to_string();
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("user-agent", concat!("belay/", env!("CARGO_PKG_VERSION")).to_owned()),
            ("webhook-id", news.id.clone()),
            ("webhook-timestamp", timestamp.clone()),
        ];
        if let Some(SigningKey(key)) = &self.secret {
            headers.push(("webhook-signature", signature(key, &news.id, &timestamp, &body)));
        }
        let status = belay_net::post(&self.url, &headers, body.as_bytes(), REQUEST_TIMEOUT)
            .map_err(|error| error.to_string())?;
        match status {
            200..=299 => Ok(()),
            // A redirect could lead anywhere; whoever moved can say so in the configuration.
            300..=399 => Err(format!("the receiver answered {status}, a redirect, which is not followed")),
            _ => Err(format!("the receiver answered {status}")),
        }
    }
}

/// Refuses an address early, where the user sees it. A name is checked each time it is resolved.
fn checked_url(url: &str) -> Result<HttpUrl, WebhookError> {
    let url = HttpUrl::parse(url)?;
    let Ok(address) = url.host.parse() else { return Ok(url) };
    match refused_network(address) {
        Some(refused) => Err(WebhookError::Refused(refused.purpose)),
        None if !url.tls && !is_local_network(address) => Err(WebhookError::PlainHttp),
        None => Ok(url),
    }
}

fn key(secret: &str) -> Result<SigningKey, WebhookError> {
    let encoded = secret.strip_prefix("whsec_").ok_or(WebhookError::Secret)?;
    let bytes = STANDARD.decode(encoded).map_err(|_| WebhookError::Secret)?;
    match bytes.len() {
        24..=64 => Ok(SigningKey(ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &bytes))),
        _ => Err(WebhookError::Secret),
    }
}

/// `v1,<base64 of HMAC-SHA256 over id.timestamp.body>`.
fn signature(key: &ring::hmac::Key, id: &str, timestamp: &str, body: &str) -> String {
    let signed = ring::hmac::sign(key, format!("{id}.{timestamp}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(signed))
}

/// The body of a webhook, as `type`, `timestamp` and `data` of Standard Webhooks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WebhookBody {
    /// What kind of news.
    #[serde(rename = "type")]
    pub kind: AlertKind,
    /// When it happened.
    pub timestamp: Timestamp,
    pub data: WebhookData,
}

/// What happened.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WebhookData {
    /// Whose news it is.
    pub session: SessionKey,
    /// Where the agent works.
    pub project: Option<String>,
    /// Which pattern; none for a person's own decision.
    pub pattern: Option<String>,
    /// What happened, in one sentence.
    pub sentence: String,
    /// The incident, if there is one.
    pub incident: Option<String>,
    /// The sentence and what to do next: enough for a chat message.
    pub text: String,
}

impl WebhookBody {
    fn of(news: &Alert) -> Self {
        let data = WebhookData {
            session: news.session.clone(),
            project: news.project.clone(),
            pattern: news.pattern.clone(),
            sentence: news.sentence.clone(),
            incident: news.incident.clone(),
            text: news.text(),
        };
        Self { kind: news.kind, timestamp: news.at, data }
    }
}

fn body(format: WebhookFormat, news: &Alert, host: &str) -> Value {
    match format {
        WebhookFormat::Belay => serde_json::to_value(WebhookBody::of(news)).unwrap_or_default(),
        WebhookFormat::Heartbeat => json!({
            "event": if matches!(news.kind, AlertKind::Nudged | AlertKind::Updated | AlertKind::Test) { "intervention" } else { "escalation" },
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
