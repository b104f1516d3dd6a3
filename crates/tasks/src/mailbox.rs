//! Messages to agents: durable, each delivered until there is proof that the agent has read it, and never again after.
//!
//! A message rides on a hook that has nothing else to say. It is *delivered* when the hook process has taken it, and
//! *proven* when the session shows it: a prompt with its text, or work that only the answer of the hook can have caused.
//! Without proof it is unconfirmed after [`PROOF_TIMEOUT`], and goes another way once.
//!
//! [`Mail`] decides, from records and the time alone. [`Mailbox`] keeps its journal, and answers questions without waiting
//! for the disk: hooks ask it while an agent waits for them.

mod mail;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use belay_core::event::DRIVER_TEXT_PREFIX;
use belay_core::redact::redact;
use belay_core::{SessionKey, Subject, Timestamp};
use belay_fs::FileMode;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::journal::{Journal, JournalError};

pub use mail::{Mail, MailError, MailRecord, MailState, PROOF_TIMEOUT, Way};

/// Longest text of a message.
pub const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Longest id of a message.
const MAX_ID_BYTES: usize = 64;

/// Messages that may wait for one session, and in total.
const MAX_QUEUED_PER_SESSION: usize = 32;
const MAX_QUEUED: usize = 1024;

/// Messages that the journal may hold, ended ones included.
const MAX_MESSAGES: usize = 8192;

/// How long the ids of ended messages are remembered at least.
const MEMORY: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Chosen by the sender: a message that is sent twice counts once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct MessageId(String);

impl TryFrom<String> for MessageId {
    type Error = SendError;

    /// An id is part of the text that the agent reads.
    fn try_from(id: String) -> Result<Self, SendError> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
        match !id.is_empty() && id.len() <= MAX_ID_BYTES && id.chars().all(is_plain) {
            true => Ok(Self(id)),
            false => Err(SendError::InvalidId),
        }
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The earliest moment at which a message is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// With the result of the next tool, or at the end of the turn.
    NextTool,
    /// At the end of the turn, which then goes on.
    TurnEnd,
}

impl When {
    fn allows(self, way: Way) -> bool {
        self == Self::NextTool || way == Way::TurnEnd
    }
}

/// A text for an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub to: SessionKey,
    /// What sends it; `None` for a person, whose text is a person's prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Subject>,
    pub text: String,
    pub when: When,
    pub expires: Timestamp,
}

impl Message {
    /// What the agent reads. A text that no person wrote says so, and with it how often it counts as a person's: never.
    pub fn delivered_text(&self) -> Cow<'_, str> {
        match self.from {
            None => Cow::Borrowed(&self.text),
            Some(_) => Cow::Owned(format!("{DRIVER_TEXT_PREFIX}{}] {}", self.id, self.text)),
        }
    }
}

/// Why a message is not accepted.
#[derive(Debug, Error)]
pub enum SendError {
    #[error("the id of a message has 1 to {MAX_ID_BYTES} letters, digits, `-`, `.` or `_`")]
    InvalidId,
    #[error("the text has {0} bytes; at most {MAX_TEXT_BYTES} are delivered")]
    TooLong(usize),
    #[error("the text is empty")]
    Empty,
    #[error("too many messages wait for {0}; wait until it has read some")]
    Full(SessionKey),
    #[error("{MAX_MESSAGES} messages were sent within a week; stop what sends them")]
    TooMany,
    #[error(transparent)]
    Journal(#[from] JournalError<MailError>),
}

/// The messages of a state directory.
#[derive(Debug)]
pub struct Mailbox {
    path: PathBuf,
    /// Held while a record is written.
    journal: Mutex<Journal<Mail>>,
    /// The state of the journal, for those who must not wait for the disk.
    mail: Mutex<Arc<Mail>>,
}

impl Mailbox {
    /// Opens the mailbox with this journal, and forgets what ended more than a week ago.
    pub fn open(path: &Path, now: Timestamp) -> Result<Self, JournalError<MailError>> {
        let mut journal = Journal::open(path, Mail::default())?;
        forget_ended(&mut journal, path, now)?;
        let mail = Mutex::new(Arc::new(journal.state().clone()));
        Ok(Self { path: path.to_owned(), journal: Mutex::new(journal), mail })
    }

    /// Accepts a message, which is durable when this returns. A message with a known id is not accepted again.
    pub fn send(&self, mut message: Message, now: Timestamp) -> Result<MailState, SendError> {
        if message.text.len() > MAX_TEXT_BYTES {
            return Err(SendError::TooLong(message.text.len()));
        }
        // Control characters go first, because they can split a secret.
        message.text = redact(&plain(&message.text)).into_owned();
        if message.text.trim().is_empty() {
            return Err(SendError::Empty);
        }
        let mut journal = lock(&self.journal);
        if let Some(known) = journal.state().state(&message.id, now) {
            return Ok(known);
        }
        let (of_session, all) = journal.state().queued(&message.to, now);
        if of_session >= MAX_QUEUED_PER_SESSION || all >= MAX_QUEUED {
            return Err(SendError::Full(message.to));
        }
        if journal.state().len() >= MAX_MESSAGES {
            forget_ended(&mut journal, &self.path, now)?;
            if journal.state().len() >= MAX_MESSAGES {
                return Err(SendError::TooMany);
            }
        }
        let id = message.id.clone();
        self.record(&mut journal, now, MailRecord::Queued { message: Box::new(message) })?;
        Ok(journal.state().state(&id, now).unwrap_or(MailState::Queued))
    }

    /// The messages as they are now. Does not wait for the disk.
    pub fn mail(&self) -> Arc<Mail> {
        Arc::clone(&lock(&self.mail))
    }

    /// Takes a message for a hook, which gets it only if this returns `true`: another hook may have taken it.
    pub fn take(&self, id: &MessageId, way: Way, hook: &str, now: Timestamp) -> bool {
        self.note(now, MailRecord::Offered { id: id.clone(), way, hook: hook.to_owned() })
    }

    /// The hook has the message.
    pub fn written(&self, id: &MessageId, now: Timestamp) -> bool {
        self.note(now, MailRecord::Written { id: id.clone() })
    }

    /// The hook did not get the message.
    pub fn failed(&self, id: &MessageId, why: &str, now: Timestamp) -> bool {
        self.note(now, MailRecord::Failed { id: id.clone(), why: why.to_owned() })
    }

    /// The agent has read the message.
    pub fn proven(&self, id: &MessageId, by: &str, now: Timestamp) -> bool {
        self.note(now, MailRecord::Proven { id: id.clone(), by: by.to_owned() })
    }

    /// Records what happened; `false` if it does not fit, or cannot be recorded.
    fn note(&self, now: Timestamp, record: MailRecord) -> bool {
        self.record(&mut lock(&self.journal), now, record).is_ok()
    }

    fn record(
        &self,
        journal: &mut MutexGuard<'_, Journal<Mail>>,
        now: Timestamp,
        record: MailRecord,
    ) -> Result<(), JournalError<MailError>> {
        journal.record(now, record)?;
        let changed = Arc::new(journal.state().clone());
        // Not under the lock: the last owner of the state before frees it.
        let before = std::mem::replace(&mut *lock(&self.mail), changed);
        drop(before);
        Ok(())
    }
}

/// Rewrites the journal without the messages that ended more than a week ago, if there are any.
fn forget_ended(journal: &mut Journal<Mail>, path: &Path, now: Timestamp) -> Result<(), JournalError<MailError>> {
    let mut last: BTreeMap<&MessageId, Timestamp> = BTreeMap::new();
    for entry in journal.entries() {
        last.insert(entry.record.id(), entry.at);
    }
    let is_old = |id: &MessageId| last.get(id).is_some_and(|at| now.saturating_since(*at) >= MEMORY);
    let ended: BTreeSet<&MessageId> =
        last.keys().copied().filter(|id| is_old(id) && journal.state().has_ended(id, now)).collect();
    if ended.is_empty() {
        return Ok(());
    }
    let mut kept = Vec::new();
    let written = journal.entries().iter().filter(|entry| !ended.contains(entry.record.id())).try_for_each(|entry| {
        serde_json::to_writer(&mut kept, entry)?;
        kept.push(b'\n');
        Ok(())
    });
    let replaced = written.and_then(|()| belay_fs::replace_file(path, &kept, FileMode::Private));
    replaced.map_err(|source| JournalError::Write { path: path.to_owned(), source })?;
    *journal = Journal::open(path, Mail::default())?;
    Ok(())
}

/// Without control characters, which a terminal would obey.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// A panic of another thread leaves the data as it was: records are applied to a copy.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
