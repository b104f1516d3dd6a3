//! A message of the outbox in words.

use belay_core::{Effect, InterventionLevel, SessionKey, Timestamp};
use belay_store::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something a person should hear of.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// Names it for ever: told again it keeps its id.
    pub id: String,
    pub kind: AlertKind,
    pub session: SessionKey,
    pub at: Timestamp,
    /// Which pattern; none for a person's own decision.
    pub pattern: Option<String>,
    /// What happened, in one sentence.
    pub sentence: String,
    /// The incident, if there is one.
    pub incident: Option<String>,
    /// Where the agent works.
    pub project: Option<String>,
}

/// What kind of news.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum AlertKind {
    /// A session is held.
    #[serde(rename = "session.paused")]
    Paused,
    /// A session is stopped for good.
    #[serde(rename = "session.killed")]
    Killed,
    /// An agent was told something it should read.
    #[serde(rename = "session.nudged")]
    Nudged,
    /// Something is wrong that no refusal would mend: a stall, a hung tool, an unseen prompt.
    #[serde(rename = "session.needs_attention")]
    NeedsAttention,
    /// An incident was acknowledged or closed.
    #[serde(rename = "incident.updated")]
    Updated,
    /// Somebody tries whether news arrives.
    #[serde(rename = "belay.test")]
    Test,
}

/// What the engine puts into the outbox.
#[derive(Deserialize)]
struct OutboxPayload {
    session: SessionKey,
    at: Timestamp,
    #[serde(default)]
    project: Option<String>,
    news: Effect,
}

impl Alert {
    /// `None` when the message is not for people.
    pub fn from_message(message: &Message) -> Option<Self> {
        let payload: OutboxPayload = serde_json::from_value(message.payload.clone()).ok()?;
        let (kind, pattern, sentence, incident) = match payload.news {
            Effect::IncidentOpened(incident) => {
                let kind = if incident.rung == InterventionLevel::Kill { AlertKind::Killed } else { AlertKind::Paused };
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
            Effect::StateChanged { .. } => return None,
        };
        let id = format!("msg_{}", message.key.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        let (session, at, project) = (payload.session, payload.at, payload.project);
        Some(Self { id, kind, session, at, pattern, sentence, incident, project })
    }

    /// News that nothing happened, to see whether it arrives.
    pub fn test_alert(id: &str, at: Timestamp) -> Self {
        Self {
            id: format!("msg_test_{id}"),
            kind: AlertKind::Test,
            session: SessionKey::new("belay", "test"),
            at,
            pattern: None,
            sentence: "This is a test: news of your agents would arrive here.".to_owned(),
            incident: None,
            project: None,
        }
    }

    /// Somebody decided it; Belay only did it.
    pub fn is_operator_decision(&self) -> bool {
        self.pattern.is_none() && matches!(self.kind, AlertKind::Paused | AlertKind::Killed)
    }

    /// One line that says whose news it is and what it is about.
    pub fn title(&self) -> String {
        let agent = &self.session.agent;
        match self.kind {
            AlertKind::Paused if self.is_operator_decision() => format!("{agent} was paused by a person"),
            AlertKind::Paused => format!("Belay paused {agent}"),
            AlertKind::Killed => format!("{agent} was stopped for good"),
            AlertKind::Nudged => format!("Belay nudged {agent}"),
            AlertKind::NeedsAttention => format!("{agent} needs you"),
            AlertKind::Updated => format!("{agent}: incident updated"),
            AlertKind::Test => "Belay can reach you".to_owned(),
        }
    }

    /// What happened and what to do next.
    pub fn text(&self) -> String {
        let next = match self.kind {
            AlertKind::Paused => format!(" Let it go on with `belay resume {}`.", self.session),
            AlertKind::NeedsAttention | AlertKind::Nudged => format!(" Look with `belay show {}`.", self.session),
            AlertKind::Killed | AlertKind::Updated | AlertKind::Test => String::new(),
        };
        format!("{}{next}", self.sentence)
    }
}
