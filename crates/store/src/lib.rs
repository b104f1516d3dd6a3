//! Persistent storage of events, sessions and incidents.
//!
//! # Theory of operation
//!
//! The source of truth is an append-only log of [`Event`](belay_core::Event)s, numbered per session. Each session also
//! has a row with its version (the number of its last event), its state and its listed details. A snapshot of the
//! session is written about every 64 events and whenever the state changes, so loading a session reads one snapshot and
//! a short tail. Snapshots of another format are ignored; the session is then rebuilt from the log.
//!
//! Several processes share one store. Every write happens in a [`Transaction`], which holds the write lock from its
//! first statement. [`Transaction::save`] is conditional on the version the caller read, so no update is lost. Readers
//! see the last commit and never block writers.
//!
//! A backend implements [`Store`] and [`Transaction`] and passes the suite in `conformance` (a feature).
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | [`open()`] | opens the store at a URL |
//! | [`traits`] | the traits of a backend |
//! | [`session`] | session rows, snapshots and queries |
//! | [`rows`] | events, incidents, findings, notes, tombstones, totals |
//! | [`outbox`] | messages and their delivery to channels |
//! | [`retention`] | retention limits |
//! | [`sqlite`] | the SQLite backend |

#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod open;
pub mod outbox;
pub mod retention;
pub mod rows;
pub mod session;
pub mod sqlite;
pub mod traits;

pub use error::{Result, StoreError};
pub use open::{Access, StoreUrl, StoreUrlError, open};
pub use outbox::{AttemptResult, Delivery, DeliveryState, DueWork, Message, NewMessage};
pub use retention::{Pruned, Retention};
pub use rows::{
    BrokenLog, CallQuery, EventQuery, EventRow, FindingRow, IncidentQuery, KeptSession, LogVerification, NewEvent,
    NoteRow, Order, Settings, SpendRow, StoreTotals, Tombstone,
};
pub use session::{
    Cursor, HeldSession, Page, SessionHead, SessionId, SessionQuery, SessionRow, SessionSort, Snapshot, StoredSession,
};
pub use sqlite::{OpenOptions, SqliteStore};
pub use traits::{ChangeToken, Durability, Store, Transaction};
