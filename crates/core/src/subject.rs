//! What an alert, a need or a decision is about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::key::SessionKey;

/// What an alert, a need or a decision is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Subject {
    Session {
        session: SessionKey,
    },
    /// A review task.
    Review {
        /// Such as `r-7f3k`.
        id: String,
    },
}

impl Subject {
    /// A review task.
    pub fn review(id: impl Into<String>) -> Self {
        Self::Review { id: id.into() }
    }

    /// One word that identifies it: `codex:01a1`, `review:r-7f3k`. No agent has the name of another kind of subject.
    pub fn key(&self) -> String {
        match self {
            Self::Session { session } => session.to_string(),
            Self::Review { id } => format!("review:{id}"),
        }
    }

    /// The command that shows it.
    pub fn command(&self) -> String {
        match self {
            Self::Session { session } => format!("belay show {session}"),
            Self::Review { id } => format!("belay review show {id}"),
        }
    }

    /// Path of its page in the dashboard.
    pub fn page(&self) -> String {
        match self {
            Self::Session { session } => format!("/sessions/{}", path_segment(&session.to_string())),
            Self::Review { id } => format!("/reviews/{}", path_segment(id)),
        }
    }
}

impl From<SessionKey> for Subject {
    fn from(session: SessionKey) -> Self {
        Self::Session { session }
    }
}

/// Percent-encodes what is special in a path or a query.
pub fn path_segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b':' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_subject_names_its_command_and_page() {
        let session = Subject::from(SessionKey::new("codex", "a/b"));
        let review = Subject::review("r-7f3k");
        let names = |subject: &Subject| [subject.key(), subject.command(), subject.page()];
        assert_eq!(names(&session), ["codex:a/b", "belay show codex:a/b", "/sessions/codex:a%2Fb"]);
        assert_eq!(names(&review), ["review:r-7f3k", "belay review show r-7f3k", "/reviews/r-7f3k"]);
    }

    #[test]
    fn the_json_of_a_subject_is_tagged() {
        let json_of = |subject: &Subject| serde_json::to_value(subject).expect("JSON");
        let session = Subject::from(SessionKey::new("codex", "01a1"));
        assert_eq!(json_of(&session), json!({ "type": "session", "session": { "agent": "codex", "id": "01a1" } }));
        assert_eq!(json_of(&Subject::review("r-7f3k")), json!({ "type": "review", "id": "r-7f3k" }));
    }
}
