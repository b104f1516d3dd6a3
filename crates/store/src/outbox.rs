//! What waits to be sent: written with the event it follows from, sent later, at least once.

use belay_core::Timestamp;
use serde::{Deserialize, Serialize};

/// A message to be sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewMessage {
    /// Names what it tells; a second message with the same key is not taken.
    pub key: String,
    /// What kind of news it is: `incident_opened`, `incident_updated`, `tell_person`.
    pub topic: String,
    /// What to tell.
    pub payload: serde_json::Value,
    /// When it was enqueued; also when it may first be sent.
    pub at: Timestamp,
}

/// A message of the outbox.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Message {
    pub id: i64,
    pub key: String,
    pub topic: String,
    pub payload: serde_json::Value,
    pub created_at: Timestamp,
    /// When it is due.
    pub next_at: Timestamp,
    /// How often sending was tried.
    pub attempts: u32,
    pub state: MessageState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageState {
    /// Waits for its time, or for its sender's lease to end.
    Pending,
    /// Arrived.
    Sent,
    /// Given up.
    Failed,
}

impl MessageState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sent => "sent",
            Self::Failed => "failed",
        }
    }

    pub(crate) fn parse(word: &str) -> Option<Self> {
        [Self::Pending, Self::Sent, Self::Failed].into_iter().find(|state| state.as_str() == word)
    }
}
