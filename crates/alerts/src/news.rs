//! A message of the outbox in words.

use belay_core::{Effect, Rung, SessionKey, Time};
use belay_store::Message;
use serde::Deserialize;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A session is held.
    Paused,
    /// A session is stopped for good.
    Killed,
    /// An agent was told something it should read.
    Nudged,
    /// Something is wrong that no refusal would mend: a stall, a hung tool, an unseen prompt.
    Attention,
    /// An incident was acknowledged or closed.
    Updated,
}

impl Kind {
    /// The type of a webhook's body.
    pub fn word(self) -> &'static str {
        match self {
            Self::Paused => "session.paused",
            Self::Killed => "session.killed",
            Self::Nudged => "session.nudged",
            Self::Attention => "session.needs_attention",
            Self::Updated => "incident.updated",
        }
    }
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

    /// One line that says whose news it is and what it is about.
    pub fn title(&self) -> String {
        let agent = &self.session.agent;
        match self.kind {
            Kind::Paused => format!("Belay paused {agent}"),
            Kind::Killed => format!("{agent} was stopped for good"),
            Kind::Nudged => format!("Belay nudged {agent}"),
            Kind::Attention => format!("{agent} needs you"),
            Kind::Updated => format!("{agent}: incident updated"),
        }
    }

    /// What happened and what to do next.
    pub fn text(&self) -> String {
        let next = match self.kind {
            Kind::Paused => format!(" Let it go on with `belay resume {}`.", self.session),
            Kind::Attention | Kind::Nudged => format!(" Look with `belay show {}`.", self.session),
            Kind::Killed | Kind::Updated => String::new(),
        };
        format!("{}{next}", self.sentence)
    }
}
