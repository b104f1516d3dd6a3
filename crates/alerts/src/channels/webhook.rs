//! A webhook: a POST to the URL in the user's own configuration.

pub mod body;
mod signature;

use std::path::{Path, PathBuf};
use std::time::Duration;

use belay_config::{Config, EnvSnapshot, WebhookFormat};
use belay_core::Timestamp;
use belay_net::{HttpUrl, UrlError, is_local_network, refused_network};

use self::body::BuildBody;
use self::signature::SigningKey;
use crate::alert::Alert;
use crate::channel::{Channel, ChannelProblem, DeliveryError, InvalidChannel};

const NAME: &str = "webhook";

/// Longest time for one attempt.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

const RETRY_DELAYS: &[Duration] = &[
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(120),
    Duration::from_secs(600),
    Duration::from_secs(1_800),
    Duration::from_secs(3_600),
    Duration::from_secs(7_200),
    Duration::from_secs(14_400),
    Duration::from_secs(28_800),
];

#[derive(Debug)]
pub(crate) struct Webhook {
    url: HttpUrl,
    build_body: BuildBody,
    /// Without a key, requests are not signed.
    key: Option<SigningKey>,
    /// Name of this machine.
    host: String,
    timeout: Duration,
}

/// Why a webhook cannot be used as it is configured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebhookError {
    #[error("webhook.url: {0}")]
    Url(#[from] UrlError),
    #[error("webhook.url: Belay does not connect to this address ({0})")]
    Refused(&'static str),
    #[error("webhook.url: plain http is limited to this machine and private networks; use https")]
    PlainHttp,
    #[error("the signing secret must be `whsec_` and the base64 of 24 to 64 bytes")]
    Secret,
    #[error("webhook.secret_file: cannot read {}: {source}", path.display())]
    SecretFile { path: PathBuf, source: std::io::Error },
}

pub(super) fn from_config(config: &Config, env: &EnvSnapshot) -> Option<Box<dyn Channel>> {
    let settings = &config.webhook;
    if settings.url.is_empty() {
        return None;
    }
    let build_body = match settings.format {
        WebhookFormat::Belay => body::belay,
        WebhookFormat::Heartbeat => body::heartbeat,
    };
    let webhook = read_secret(&settings.secret_file, env)
        .and_then(|secret| Webhook::new(&settings.url, build_body, secret.as_deref(), host_name(env)));
    Some(match webhook {
        Ok(webhook) => Box::new(webhook),
        Err(error) => {
            let fix = "`belay config explain webhook` lists the settings, `belay notify` tests them".to_owned();
            let problem = ChannelProblem { misconfigured: true, reason: error.to_string(), fix };
            Box::new(InvalidChannel { name: NAME, problem })
        }
    })
}

impl Webhook {
    /// `secret` as Standard Webhooks writes it: `whsec_<base64>`.
    fn new(url: &str, build_body: BuildBody, secret: Option<&str>, host: String) -> Result<Self, WebhookError> {
        let url = parse_url(url)?;
        let secret = secret.map(str::trim).filter(|secret| !secret.is_empty());
        let key = secret.map(|secret| SigningKey::parse(secret).ok_or(WebhookError::Secret)).transpose()?;
        Ok(Self { url, build_body, key, host, timeout: REQUEST_TIMEOUT })
    }
}

impl Channel for Webhook {
    fn name(&self) -> &'static str {
        NAME
    }

    fn describe(&self) -> String {
        let signed = if self.key.is_some() { "signed" } else { "unsigned" };
        format!("{:?}, {signed}", self.url)
    }

    fn deliver(&self, alert: &Alert, now: Timestamp) -> Result<(), DeliveryError> {
        let body = (self.build_body)(alert, &self.host).to_string();
        let timestamp = (now.millis() / 1000).to_string();
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("user-agent", concat!("belay/", env!("CARGO_PKG_VERSION")).to_owned()),
            ("webhook-id", alert.id.clone()),
            ("webhook-timestamp", timestamp.clone()),
        ];
        if let Some(key) = &self.key {
            headers.push(("webhook-signature", key.sign(&alert.id, &timestamp, &body)));
        }
        let status = belay_net::post(&self.url, &headers, body.as_bytes(), self.timeout)
            .map_err(|error| DeliveryError(error.to_string()))?;
        match status {
            200..=299 => Ok(()),
            // A redirect could lead anywhere. If the receiver moved, the configuration has to change.
            300..=399 => {
                Err(DeliveryError(format!("the receiver responded {status}, a redirect, which is not followed")))
            }
            _ => Err(DeliveryError(format!("the receiver responded {status}"))),
        }
    }

    fn retry_delays(&self) -> &[Duration] {
        RETRY_DELAYS
    }
}

/// Refuses an address literal before it is used. A host name is checked each time it is resolved.
fn parse_url(url: &str) -> Result<HttpUrl, WebhookError> {
    let url = HttpUrl::parse(url)?;
    let Ok(address) = url.host.parse() else { return Ok(url) };
    match refused_network(address) {
        Some(refused) => Err(WebhookError::Refused(refused.purpose)),
        None if !url.tls && !is_local_network(address) => Err(WebhookError::PlainHttp),
        None => Ok(url),
    }
}

/// The signing secret, from the environment or from the file that the user's configuration names.
fn read_secret(file: &str, env: &EnvSnapshot) -> Result<Option<String>, WebhookError> {
    if let Some(secret) = env.text("BELAY_WEBHOOK_SECRET") {
        return Ok(Some(secret.to_owned()));
    }
    let path = match (file.strip_prefix("~/"), env.text("HOME")) {
        _ if file.is_empty() => return Ok(None),
        (Some(below), Some(home)) => Path::new(home).join(below),
        _ => PathBuf::from(file),
    };
    std::fs::read_to_string(&path).map(Some).map_err(|source| WebhookError::SecretFile { path, source })
}

fn host_name(env: &EnvSnapshot) -> String {
    #[cfg(unix)]
    let system = || rustix::system::uname().nodename().to_str().ok().map(str::to_owned);
    #[cfg(not(unix))]
    let system = || env.text("COMPUTERNAME").map(str::to_owned);
    env.text("HOSTNAME").map(str::to_owned).or_else(system).unwrap_or_default()
}

#[cfg(test)]
pub(crate) fn to_local_port(port: u16, timeout: Duration) -> Box<dyn Channel> {
    let webhook = Webhook::new(&format!("http://127.0.0.1:{port}/"), body::belay, None, "box".to_owned());
    Box::new(Webhook { timeout, ..webhook.expect("a webhook") })
}

#[cfg(test)]
mod tests;
