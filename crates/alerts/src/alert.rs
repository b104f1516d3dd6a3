//! An alert and its text.

use belay_core::printable::spell_out;
use belay_core::{Effect, InterventionLevel, SessionKey, Subject, Timestamp};
use belay_store::Message;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that a person should know.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// The same over all attempts and channels.
    pub id: String,
    pub kind: AlertKind,
    /// What it is about; `None` for a test of the channels.
    pub subject: Option<Subject>,
    pub at: Timestamp,
    /// The detected pattern; `None` for an operator's decision.
    pub pattern: Option<String>,
    /// What happened, in one sentence.
    pub sentence: String,
    /// Id of the incident, if there is one.
    pub incident: Option<String>,
    /// Directory in which the agent works.
    pub project: Option<String>,
}

/// Kind of alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum AlertKind {
    /// A session was paused.
    #[serde(rename = "session.paused")]
    Paused,
    /// A session was killed.
    #[serde(rename = "session.killed")]
    Killed,
    /// An agent got a nudge.
    #[serde(rename = "session.nudged")]
    Nudged,
    /// A person must act: a stall, a hung tool, an unanswered prompt.
    #[serde(rename = "session.needs_attention")]
    NeedsAttention,
    /// An incident was acknowledged or closed.
    #[serde(rename = "incident.updated")]
    Updated,
    /// A test of the channels.
    #[serde(rename = "belay.test")]
    Test,
}

/// Payload of a message, besides its version and subject.
#[derive(Deserialize)]
struct OutboxPayload {
    at: Timestamp,
    #[serde(default)]
    project: Option<String>,
    effect: Effect,
}

/// The subject of a payload. Version 1, which has no `v`, knew only sessions; its messages may still wait in a store.
fn subject_of(payload: &Value) -> serde_json::Result<Subject> {
    match payload.get("v") {
        None => SessionKey::deserialize(&payload["session"]).map(Subject::from),
        Some(version) if *version == 2 => Subject::deserialize(&payload["subject"]),
        Some(version) => Err(serde_json::Error::custom(format!("its version is {version}; a newer belay wrote it"))),
    }
}

impl Alert {
    pub fn from_message(message: &Message) -> serde_json::Result<Self> {
        let subject = subject_of(&message.payload)?;
        let payload = OutboxPayload::deserialize(&message.payload)?;
        let (kind, pattern, sentence, incident) = match payload.effect {
            Effect::IncidentOpened(incident) => {
                let kind =
                    if incident.level == InterventionLevel::Kill { AlertKind::Killed } else { AlertKind::Paused };
                let pattern = incident.finding.as_ref().map(|finding| finding.pattern.clone());
                (kind, pattern, incident.sentence, Some(incident.id))
            }
            Effect::IncidentUpdated(incident) => {
                let what = if incident.closed_at.is_some() { "closed" } else { "acknowledged" };
                let pattern = incident.finding.as_ref().map(|finding| finding.pattern.clone());
                let sentence = format!("The incident is {what}: {}", incident.sentence);
                (AlertKind::Updated, pattern, sentence, Some(incident.id))
            }
            Effect::Intervened(done) => {
                (AlertKind::Nudged, Some(done.finding.pattern.clone()), done.finding.sentence, None)
            }
            Effect::NotifyOperator { pattern, sentence } => (AlertKind::NeedsAttention, Some(pattern), sentence, None),
            Effect::StateChanged { .. } => {
                return Err(serde_json::Error::custom("a change of state is not an alert"));
            }
        };
        let id = format!("msg_{}", message.key.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        // A sentence quotes commands: a channel that drops characters must not make one look like another.
        let sentence = spell_out(&sentence).into_owned();
        let (at, project) = (payload.at, payload.project);
        Ok(Self { id, kind, subject: Some(subject), at, pattern, sentence, incident, project })
    }

    /// An alert that tests a channel.
    pub fn test_alert(id: &str, at: Timestamp) -> Self {
        Self {
            id: format!("msg_test_{id}"),
            kind: AlertKind::Test,
            subject: None,
            at,
            pattern: None,
            sentence: "This is a test. Alerts about your agents arrive here.".to_owned(),
            incident: None,
            project: None,
        }
    }

    /// An operator paused or killed the session; Belay only carried it out.
    pub fn is_operator_decision(&self) -> bool {
        self.pattern.is_none() && matches!(self.kind, AlertKind::Paused | AlertKind::Killed)
    }

    /// One line: the agent and what happened.
    pub fn title(&self) -> String {
        let agent = match &self.subject {
            Some(Subject::Session { session }) => session.agent.to_string(),
            Some(Subject::Review { id }) => format!("Review {id}"),
            None => "Belay".to_owned(),
        };
        match self.kind {
            AlertKind::Paused if self.is_operator_decision() => format!("{agent} was paused by an operator"),
            AlertKind::Paused => format!("Belay paused {agent}"),
            AlertKind::Killed => format!("{agent} was killed"),
            AlertKind::Nudged => format!("Belay nudged {agent}"),
            AlertKind::NeedsAttention => format!("{agent} needs you"),
            AlertKind::Updated => format!("{agent}: incident updated"),
            AlertKind::Test => "Belay test alert".to_owned(),
        }
    }

    /// What happened, and the next step.
    pub fn text(&self) -> String {
        let next = match (self.kind, &self.subject) {
            (AlertKind::Paused, Some(subject)) => format!(" Resume it with `belay resume {}`.", subject.key()),
            (AlertKind::NeedsAttention | AlertKind::Nudged, Some(subject)) => {
                format!(" Details: `{}`.", subject.command())
            }
            _ => String::new(),
        };
        format!("{}{next}", self.sentence)
    }
}

#[cfg(test)]
mod tests;
