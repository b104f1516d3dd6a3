//! Bodies of webhooks.

use belay_core::{SessionKey, Subject, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::alert::{Alert, AlertKind};

/// Builds the body for an alert, given the name of this machine.
pub type BuildBody = fn(&Alert, &str) -> Value;

/// The body of a webhook: `type`, `timestamp` and `data` of Standard Webhooks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WebhookBody {
    #[serde(rename = "type")]
    pub kind: AlertKind,
    /// When it happened.
    pub timestamp: Timestamp,
    pub data: WebhookData,
}

/// What happened.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WebhookData {
    /// What it is about; absent in a test of the channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// The session, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionKey>,
    /// Directory in which the agent works.
    pub project: Option<String>,
    /// The detected pattern; null for an operator's decision and for review tasks.
    pub pattern: Option<String>,
    /// What happened, in one sentence.
    pub sentence: String,
    /// Id of the incident, if there is one.
    pub incident: Option<String>,
    /// The sentence and the next step, as for a chat message.
    pub text: String,
}

/// Belay's own format.
pub fn belay(alert: &Alert, _host: &str) -> Value {
    let session = match &alert.subject {
        Some(Subject::Session { session }) => Some(session.clone()),
        Some(Subject::Review { .. }) | None => None,
    };
    let data = WebhookData {
        subject: alert.subject.clone(),
        session,
        project: alert.project.clone(),
        pattern: alert.pattern.clone(),
        sentence: alert.sentence.clone(),
        incident: alert.incident.clone(),
        text: alert.text(),
    };
    let body = WebhookBody { kind: alert.kind, timestamp: alert.at, data };
    serde_json::to_value(body).unwrap_or_default()
}

/// The format of heartbeat's webhook.
pub fn heartbeat(alert: &Alert, host: &str) -> Value {
    let event = match alert.kind {
        AlertKind::Nudged | AlertKind::Updated | AlertKind::ReviewDone | AlertKind::Test => "intervention",
        AlertKind::Paused
        | AlertKind::Killed
        | AlertKind::NeedsAttention
        | AlertKind::ReviewNeedsAttention
        | AlertKind::ReviewFailed => "escalation",
    };
    // Every message has a pattern in heartbeat's format.
    let pattern = match (&alert.pattern, &alert.subject) {
        (Some(name), _) => name.replace('_', "-"),
        (None, Some(Subject::Review { .. })) => "review".to_owned(),
        (None, _) => "operator".to_owned(),
    };
    json!({
        "event": event,
        "pattern": pattern,
        "message": alert.text(),
        "timestamp": alert.at,
        "host": host,
        "cwd": alert.project.as_deref().unwrap_or_default(),
    })
}
