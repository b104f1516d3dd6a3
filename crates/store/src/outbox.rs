//! The outbox: messages, and the delivery of each message to each channel.
//!
//! A message is written in the transaction of the event it follows from, without knowledge of channels. Routing creates
//! one delivery per channel. A delivery is claimed with a lease and then recorded as sent, skipped, failed or to be
//! retried, so a process that dies loses nothing and each channel gets each message at least once.

use std::time::Duration;

use belay_core::Timestamp;
use serde::{Deserialize, Serialize};

/// A message to enqueue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewMessage {
    /// Identifies what happened; a second message with the same key is ignored.
    pub key: String,
    /// The kind of effect, e.g. `incident_opened`.
    pub topic: String,
    /// With `v`, `subject` (a `belay_core::Subject`) and `at`. Without `v` it is of version 1, which has a `session`.
    pub payload: serde_json::Value,
    /// When it happened.
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
}

/// The delivery of one message to one channel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Delivery {
    pub message: Message,
    /// Name of the channel.
    pub channel: String,
    pub state: DeliveryState,
    /// Number of attempts, the claimed one included.
    pub attempts: u32,
    /// While pending: when it is due, or when the lease of its claim ends. Otherwise: when it finished.
    pub next_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// State of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// Due later, or claimed.
    Pending,
    /// The channel accepted it.
    Sent,
    /// Not retried any more.
    Failed,
    /// The channel does not deliver this message.
    Skipped,
}

impl DeliveryState {
    const ALL: [Self; 4] = [Self::Pending, Self::Sent, Self::Failed, Self::Skipped];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }
}

/// Result of an attempt to deliver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttemptResult {
    Sent,
    /// Nothing was attempted.
    Skipped,
    Retry {
        error: String,
        after: Duration,
    },
    Failed {
        error: String,
    },
}

/// Work that the outbox has now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueWork {
    /// Some message has no deliveries yet.
    pub unrouted: bool,
    /// Channels with a delivery that is due.
    pub channels: Vec<String>,
}
