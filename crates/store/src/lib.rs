//! Where Belay keeps events, sessions and incidents.
//!
//! # Theory of operation
//!
//! The truth is an append-only log of [`Event`](belay_core::Event)s, numbered per session. Beside it stands one row
//! per session: its version (the number of its last event), its state, and what lists show. Every 64 events, and
//! whenever the state changes, a snapshot of the whole session is kept, so that loading one costs a snapshot and a
//! short tail. A snapshot of another format is ignored: the log gives the session again.
//!
//! Several processes use one store at once. Every write happens in a [`Transaction`] that holds the write lock from
//! its first statement, and [`Transaction::save`] names the version it started from: nobody overwrites what they have
//! not seen. Readers see the last commit and block nobody.
//!
//! [`Store`] and [`Transaction`] are all a backend has to give; `conformance` (a feature) is the suite it must pass.
//!
//! # Map
//!
//! | module | what it holds |
//! |---|---|
//! | [`open()`] | opens the store that a URL names |
//! | [`traits`] | the two traits |
//! | [`session`] | what a session looks like to readers and to the engine |
//! | [`rows`] | events, incidents, findings, notes, tombstones, totals |
//! | [`outbox`] | what waits to be sent |
//! | [`retention`] | how long things are kept |
//! | [`sqlite`] | the embedded backend |

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
pub use outbox::{Message, MessageState, NewMessage};
pub use retention::{Pruned, Retention};
pub use rows::{
    EventQuery, EventRow, FindingRow, IncidentQuery, NewEvent, NoteRow, Order, Settings, StoreTotals, Tombstone,
};
pub use session::{Cursor, Page, SessionHead, SessionId, SessionQuery, SessionRow, Snapshot, StoredSession};
pub use sqlite::{OpenOptions, SqliteStore};
pub use traits::{ChangeToken, Durability, Store, Transaction};
