//! The messages as their journal tells: which may be delivered now, and which were read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use belay_core::task::Journalled;
use belay_core::{SessionKey, Timestamp};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Message, MessageId};

/// How long a message that was delivered may take to be proven.
pub const PROOF_TIMEOUT: Duration = Duration::from_secs(30);

/// How a message reaches its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The answer of a hook after a tool: the model reads it with the result.
    AfterTool,
    /// The answer of a hook at the end of a turn: the agent continues.
    TurnEnd,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailState {
    /// It waits for a moment to be delivered.
    Queued,
    /// It is being delivered. After a crash it may have been.
    Offered { at: Timestamp, way: Way },
    /// The hook has it.
    Delivered { at: Timestamp, way: Way },
    /// The agent has read it.
    Proven { at: Timestamp, by: String },
    /// It was delivered, and nothing shows that the agent has read it.
    Unconfirmed { since: Timestamp },
    /// There was no moment to deliver it in time.
    Expired,
}

/// A line of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum MailRecord {
    Queued {
        message: Box<Message>,
    },
    /// Before the hook gets it. `hook`: the id of its call, which is the same if it repeats the call.
    Offered {
        id: MessageId,
        way: Way,
        hook: String,
    },
    /// The hook got it.
    Written {
        id: MessageId,
    },
    /// The hook did not get it.
    Failed {
        id: MessageId,
        why: String,
    },
    Proven {
        id: MessageId,
        by: String,
    },
}

impl MailRecord {
    /// The message that it is about.
    pub(super) fn id(&self) -> &MessageId {
        match self {
            Self::Queued { message } => &message.id,
            Self::Offered { id, .. } | Self::Written { id } | Self::Failed { id, .. } | Self::Proven { id, .. } => id,
        }
    }
}

/// A record that contradicts the ones before it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("message {0} is not in a state for this record")]
pub struct MailError(pub MessageId);

/// A message and where it is.
#[derive(Clone, Debug)]
struct Entry {
    /// Shared by the copies of the state, of which each record makes one.
    message: Arc<Message>,
    /// The order in which messages were sent.
    number: usize,
    delivery: Delivery,
    /// An earlier delivery that nothing confirmed.
    tried: Option<(Way, Timestamp)>,
}

#[derive(Clone, Debug)]
enum Delivery {
    None,
    Offered { at: Timestamp, way: Way, hook: String },
    Written { at: Timestamp, way: Way },
    Proven { at: Timestamp, by: String },
}

impl Entry {
    fn state(&self, now: Timestamp) -> MailState {
        match &self.delivery {
            Delivery::None if self.tried.is_none() && now >= self.message.expires => MailState::Expired,
            Delivery::None => match self.tried {
                Some((_, at)) => MailState::Unconfirmed { since: at + PROOF_TIMEOUT },
                None => MailState::Queued,
            },
            Delivery::Proven { at, by } => MailState::Proven { at: *at, by: by.clone() },
            Delivery::Offered { at, .. } | Delivery::Written { at, .. } if is_overdue(*at, now) => {
                MailState::Unconfirmed { since: *at + PROOF_TIMEOUT }
            }
            Delivery::Offered { at, way, .. } => MailState::Offered { at: *at, way: *way },
            Delivery::Written { at, way } => MailState::Delivered { at: *at, way: *way },
        }
    }

    /// Whether it may be delivered in this way now.
    fn may_go(&self, way: Way, hook: &str, now: Timestamp) -> bool {
        // A text that is late is not delivered, also not again.
        if now >= self.message.expires || !self.message.when.allows(way) {
            return false;
        }
        match &self.delivery {
            // A hook that repeats its call has no answer.
            Delivery::Offered { hook: offered_to, way: before, .. } if offered_to == hook => *before == way,
            // In another way, once: the first one may have arrived.
            Delivery::Offered { at, way: before, .. } | Delivery::Written { at, way: before } => {
                is_overdue(*at, now) && self.tried.is_none() && *before != way
            }
            Delivery::None => self.tried.is_none_or(|(tried, _)| tried != way),
            Delivery::Proven { .. } => false,
        }
    }
}

fn is_overdue(delivered: Timestamp, now: Timestamp) -> bool {
    now.saturating_since(delivered) >= PROOF_TIMEOUT
}

/// All messages.
#[derive(Clone, Debug, Default)]
pub struct Mail {
    entries: BTreeMap<MessageId, Entry>,
}

impl Mail {
    /// What became of a message.
    pub fn state(&self, id: &MessageId, now: Timestamp) -> Option<MailState> {
        Some(self.entries.get(id)?.state(now))
    }

    /// The message that a hook of this session may take now, the oldest first.
    pub fn next(&self, to: &SessionKey, way: Way, hook: &str, now: Timestamp) -> Option<&Message> {
        let own = self.entries.values().filter(|entry| entry.message.to == *to);
        let next = own.filter(|entry| entry.may_go(way, hook, now)).min_by_key(|entry| entry.number);
        next.map(|entry| &*entry.message)
    }

    /// Messages that were delivered, or may have been, and since when they await a proof. One that is late and not delivered
    /// again awaits none.
    pub fn unproven(&self, now: Timestamp) -> impl Iterator<Item = (&Message, Timestamp)> {
        self.entries.values().filter_map(move |entry| match &entry.delivery {
            Delivery::Offered { at, .. } | Delivery::Written { at, .. }
                if now >= entry.message.expires && is_overdue(*at, now) =>
            {
                None
            }
            Delivery::Offered { at, .. } | Delivery::Written { at, .. } => Some((&*entry.message, *at)),
            Delivery::None | Delivery::Proven { .. } => None,
        })
    }

    /// How many messages wait to be delivered: to one session, and in total.
    pub(super) fn queued(&self, to: &SessionKey, now: Timestamp) -> (usize, usize) {
        let queued = || self.entries.values().filter(|entry| entry.state(now) == MailState::Queued);
        (queued().filter(|entry| entry.message.to == *to).count(), queued().count())
    }

    /// How many messages the journal knows.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is left to deliver or to prove.
    pub(super) fn has_ended(&self, id: &MessageId, now: Timestamp) -> bool {
        self.entries.get(id).is_none_or(|entry| match &entry.delivery {
            Delivery::Proven { .. } => true,
            Delivery::None | Delivery::Offered { .. } | Delivery::Written { .. } => now >= entry.message.expires,
        })
    }
}

impl Journalled for Mail {
    type Record = MailRecord;
    type Error = MailError;

    fn apply(&mut self, at: Timestamp, record: &MailRecord) -> Result<(), MailError> {
        if let MailRecord::Queued { message } = record {
            let number = self.entries.len();
            let entry = Entry { message: Arc::new((**message).clone()), number, delivery: Delivery::None, tried: None };
            return match self.entries.contains_key(&message.id) {
                true => Err(MailError(message.id.clone())),
                false => {
                    self.entries.insert(message.id.clone(), entry);
                    Ok(())
                }
            };
        }
        let (MailRecord::Offered { id, .. }
        | MailRecord::Written { id }
        | MailRecord::Failed { id, .. }
        | MailRecord::Proven { id, .. }) = record
        else {
            return Ok(());
        };
        let entry = self.entries.get_mut(id).ok_or_else(|| MailError(id.clone()))?;
        let next = match (record, &entry.delivery) {
            (MailRecord::Offered { way, hook, .. }, before) if entry.may_go(*way, hook, at) => {
                match before {
                    Delivery::Offered { hook: offered_to, .. } if offered_to == hook => {}
                    Delivery::Offered { at, way, .. } | Delivery::Written { at, way } => {
                        entry.tried = Some((*way, *at))
                    }
                    Delivery::None | Delivery::Proven { .. } => {}
                }
                Delivery::Offered { at, way: *way, hook: hook.clone() }
            }
            (MailRecord::Written { .. }, Delivery::Offered { at, way, .. }) => Delivery::Written { at: *at, way: *way },
            (MailRecord::Failed { .. }, Delivery::Offered { .. }) => Delivery::None,
            (MailRecord::Proven { by, .. }, Delivery::Offered { .. } | Delivery::Written { .. }) => {
                Delivery::Proven { at, by: by.clone() }
            }
            _ => return Err(MailError(id.clone())),
        };
        entry.delivery = next;
        Ok(())
    }
}
