//! An alert and its text.

use belay_core::printable::spell_out;
use belay_core::{Effect, InterventionLevel, SessionKey, Timestamp};
use belay_store::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that a person should know.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// The same over all attempts and channels.
    pub id: String,
    pub kind: AlertKind,
    pub session: SessionKey,
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

/// Payload of a message that the engine enqueues.
#[derive(Deserialize)]
struct OutboxPayload {
    session: SessionKey,
    at: Timestamp,
    #[serde(default)]
    project: Option<String>,
    effect: Effect,
}

impl Alert {
    pub fn from_message(message: &Message) -> serde_json::Result<Self> {
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
                return Err(serde::de::Error::custom("a change of state is not an alert"));
            }
        };
        let id = format!("msg_{}", message.key.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        let (session, at, project) = (payload.session, payload.at, payload.project);
        // A sentence quotes commands: a channel that drops characters must not make one look like another.
        let sentence = spell_out(&sentence).into_owned();
        Ok(Self { id, kind, session, at, pattern, sentence, incident, project })
    }

    /// An alert that tests a channel.
    pub fn test_alert(id: &str, at: Timestamp) -> Self {
        Self {
            id: format!("msg_test_{id}"),
            kind: AlertKind::Test,
            session: SessionKey::new("belay", "test"),
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
        let agent = &self.session.agent;
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
        let next = match self.kind {
            AlertKind::Paused => format!(" Resume it with `belay resume {}`.", self.session),
            AlertKind::NeedsAttention | AlertKind::Nudged => format!(" Details: `belay show {}`.", self.session),
            AlertKind::Killed | AlertKind::Updated | AlertKind::Test => String::new(),
        };
        format!("{}{next}", self.sentence)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_quoted_command_keeps_its_invisible_characters_visible() {
        let sentence = "The same call again: `rm \u{202e}x\u{200b}y [redacted:secret]`.";
        let effect = Effect::NotifyOperator { pattern: "stall".to_owned(), sentence: sentence.to_owned() };
        let payload =
            json!({ "session": SessionKey::new("codex", "s"), "at": Timestamp::from_millis(0), "effect": effect });
        let (id, created_at) = (1, Timestamp::from_millis(0));
        let message = Message { id, key: "k".to_owned(), topic: "t".to_owned(), payload, created_at };
        let shown = Alert::from_message(&message).unwrap().sentence;
        assert_eq!(shown, r"The same call again: `rm \u{202e}x\u{200b}y [redacted:secret]`.");
    }
}
