//! An alert and its text.

use belay_core::printable::spell_out;
use belay_core::{Effect, InterventionLevel, SessionKey, Subject, Timestamp};
use belay_ipc::views::{Need, NeedKind};
use belay_store::{Message, NewMessage};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Something that a person should know.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// The same over all attempts and channels.
    pub id: String,
    pub kind: AlertKind,
    /// What it is about; `None` for a test of the channels.
    pub subject: Option<Subject>,
    pub at: Timestamp,
    /// The detected pattern; `None` for an operator's decision and for review tasks.
    pub pattern: Option<String>,
    /// What happened, in one sentence.
    pub sentence: String,
    /// Id of the incident, if there is one.
    pub incident: Option<String>,
    /// Directory in which the agent works.
    pub project: Option<String>,
    /// Address of the page of the subject, if this machine serves it.
    pub link: Option<String>,
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
    /// A review task cannot go on without a decision.
    #[serde(rename = "review.needs_attention")]
    ReviewNeedsAttention,
    /// A review task is done, and its result can land.
    #[serde(rename = "review.done")]
    ReviewDone,
    /// A review task failed.
    #[serde(rename = "review.failed")]
    ReviewFailed,
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
    #[serde(default)]
    link: Option<String>,
    #[serde(flatten)]
    cause: Cause,
}

/// Why there is a message.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Cause {
    /// An event of a session had this effect.
    Effect(Box<Effect>),
    /// Something needs a person.
    Need(Need),
}

/// The message about a need. It has the key of the need, and is therefore enqueued once. `link`: address of its page.
pub fn message_about(need: &Need, link: Option<&str>) -> NewMessage {
    NewMessage {
        key: need.key(),
        topic: "need".to_owned(),
        payload: json!({
            "v": 2, "subject": need.subject, "at": need.since, "project": need.project, "link": link, "need": need,
        }),
        at: need.since,
    }
}

/// The subject of a payload. Version 1, which has no `v`, knew only sessions; its messages may still wait in a store.
fn subject_of(payload: &Value) -> serde_json::Result<Subject> {
    match payload.get("v") {
        None => SessionKey::deserialize(&payload["session"]).map(Subject::from),
        Some(version) if *version == 2 => Subject::deserialize(&payload["subject"]),
        Some(version) => Err(serde_json::Error::custom(format!("its version is {version}; a newer belay wrote it"))),
    }
}

/// Kind, pattern, sentence and incident of an alert about an effect.
fn from_effect(effect: Effect) -> serde_json::Result<(AlertKind, Option<String>, String, Option<String>)> {
    Ok(match effect {
        Effect::IncidentOpened(incident) => {
            let kind = if incident.level == InterventionLevel::Kill { AlertKind::Killed } else { AlertKind::Paused };
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
    })
}

fn need_kind(kind: NeedKind) -> AlertKind {
    match kind {
        NeedKind::Finished => AlertKind::ReviewDone,
        NeedKind::Failed => AlertKind::ReviewFailed,
        _ => AlertKind::ReviewNeedsAttention,
    }
}

impl Alert {
    pub fn from_message(message: &Message) -> serde_json::Result<Self> {
        let subject = subject_of(&message.payload)?;
        let payload = OutboxPayload::deserialize(&message.payload)?;
        let (kind, pattern, sentence, incident) = match payload.cause {
            Cause::Need(need) => (need_kind(need.kind), None, need.reason, None),
            Cause::Effect(effect) => from_effect(*effect)?,
        };
        let id = format!("msg_{}", message.key.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        // A sentence quotes commands: a channel that drops characters must not make one look like another.
        let sentence = spell_out(&sentence).into_owned();
        let OutboxPayload { at, project, link, .. } = payload;
        Ok(Self { id, kind, subject: Some(subject), at, pattern, sentence, incident, project, link })
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
            link: None,
        }
    }

    /// An operator paused or killed the session; Belay only carried it out.
    pub fn is_operator_decision(&self) -> bool {
        self.pattern.is_none() && matches!(self.kind, AlertKind::Paused | AlertKind::Killed)
    }

    /// One line: who, and what happened.
    pub fn title(&self) -> String {
        let who = match &self.subject {
            Some(Subject::Session { session }) => session.agent.to_string(),
            Some(Subject::Review { id }) => format!("Review {id}"),
            None => "Belay".to_owned(),
        };
        match self.kind {
            AlertKind::Paused if self.is_operator_decision() => format!("{who} was paused by an operator"),
            AlertKind::Paused => format!("Belay paused {who}"),
            AlertKind::Killed => format!("{who} was killed"),
            AlertKind::Nudged => format!("Belay nudged {who}"),
            AlertKind::NeedsAttention | AlertKind::ReviewNeedsAttention => format!("{who} needs you"),
            AlertKind::ReviewDone => format!("{who} is done"),
            AlertKind::ReviewFailed => format!("{who} failed"),
            AlertKind::Updated => format!("{who}: incident updated"),
            AlertKind::Test => "Belay test alert".to_owned(),
        }
    }

    /// What happened, and the next step.
    pub fn text(&self) -> String {
        let next = match (self.kind, &self.subject) {
            (AlertKind::Paused, Some(subject)) => format!(" Resume it with `belay resume {}`.", subject.key()),
            (AlertKind::Killed | AlertKind::Updated | AlertKind::Test, _) | (_, None) => String::new(),
            (_, Some(subject)) => {
                let link = self.link.as_ref().map_or_else(String::new, |link| format!(" ({link})"));
                format!(" Details: `{}`{link}.", subject.command())
            }
        };
        format!("{}{next}", self.sentence)
    }
}

#[cfg(test)]
mod tests;
