//! A message of the outbox in words.

use belay_core::{Effect, Rung, SessionKey, Time};
use belay_store::Message;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something a person should hear of.
#[derive(Clone, Debug, PartialEq)]
pub struct News {
    /// Names it for ever: told again it keeps its id.
    pub id: String,
    pub kind: Kind,
    pub session: SessionKey,
    pub at: Time,
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
pub enum Kind {
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
    Attention,
    /// An incident was acknowledged or closed.
    #[serde(rename = "incident.updated")]
    Updated,
    /// Somebody tries whether news arrives.
    #[serde(rename = "belay.test")]
    Test,
}

/// What the engine puts into the outbox.
#[derive(Deserialize)]
struct Payload {
    session: SessionKey,
    at: Time,
    #[serde(default)]
    project: Option<String>,
    news: Effect,
}

impl News {
    /// `None` when the message is not for people.
    pub fn of(message: &Message) -> Option<Self> {
        let payload: Payload = serde_json::from_value(message.payload.clone()).ok()?;
        let (kind, pattern, sentence, incident) = match payload.news {
            Effect::IncidentOpened(incident) => {
                let kind = if incident.rung == Rung::Kill { Kind::Killed } else { Kind::Paused };
                let pattern = incident.finding.as_ref().map(|finding| finding.pattern.clone());
                (kind, pattern, incident.sentence, Some(incident.id))
            }
            Effect::IncidentUpdated(incident) => {
                let what = if incident.closed_at.is_some() { "closed" } else { "acknowledged" };
                let pattern = incident.finding.as_ref().map(|finding| finding.pattern.clone());
                let sentence = format!("The incident is {what}: {}", incident.sentence);
                (Kind::Updated, pattern, sentence, Some(incident.id))
            }
            Effect::Intervened(done) => (Kind::Nudged, Some(done.finding.pattern.clone()), done.finding.sentence, None),
            Effect::TellPerson { pattern, sentence } => (Kind::Attention, Some(pattern), sentence, None),
            Effect::StateChanged { .. } => return None,
        };
        let id = format!("msg_{}", message.key.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        let (session, at, project) = (payload.session, payload.at, payload.project);
        Some(Self { id, kind, session, at, pattern, sentence, incident, project })
    }

    /// News that nothing happened, to see whether it arrives.
    pub fn test(id: &str, at: Time) -> Self {
        Self {
            id: format!("msg_test_{id}"),
            kind: Kind::Test,
            session: SessionKey::new("belay", "test"),
            at,
            pattern: None,
            sentence: "This is a test: news of your agents would arrive here.".to_owned(),
            incident: None,
            project: None,
        }
    }

    /// Somebody decided it; Belay only did it.
    pub fn is_a_persons(&self) -> bool {
        self.pattern.is_none() && matches!(self.kind, Kind::Paused | Kind::Killed)
    }

    /// One line that says whose news it is and what it is about.
    pub fn title(&self) -> String {
        let agent = &self.session.agent;
        match self.kind {
            Kind::Paused if self.is_a_persons() => format!("{agent} was paused by a person"),
            Kind::Paused => format!("Belay paused {agent}"),
            Kind::Killed => format!("{agent} was stopped for good"),
            Kind::Nudged => format!("Belay nudged {agent}"),
            Kind::Attention => format!("{agent} needs you"),
            Kind::Updated => format!("{agent}: incident updated"),
            Kind::Test => "Belay can reach you".to_owned(),
        }
    }

    /// What happened and what to do next.
    pub fn text(&self) -> String {
        let next = match self.kind {
            Kind::Paused => format!(" Let it go on with `belay resume {}`.", self.session),
            Kind::Attention | Kind::Nudged => format!(" Look with `belay show {}`.", self.session),
            Kind::Killed | Kind::Updated | Kind::Test => String::new(),
        };
        format!("{}{next}", self.sentence)
    }
}
