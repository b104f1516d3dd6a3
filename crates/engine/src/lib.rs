//! Records events, decides, and persists: the only writer of sessions.
//!
//! # Theory of operation
//!
//! [`Engine::observe`] records an event and returns what the agent may do. It appends, applies, decides and persists in
//! one transaction and returns after the commit. Several events may share a transaction ([`Engine::observe_batch`]).
//!
//! Sessions are cached in memory. A cached session is valid only while its version equals the store's, since another
//! process may have changed it. A stale session is restored from its newest snapshot and the events since, applied
//! under the rules in force at the time. The state in the session's row overrides the result of a replay, so a pause is
//! never lost.
//!
//! A transaction that pauses or kills a session is rolled back and repeated with full sync, because the decision must
//! survive a power cut before it is returned.
//!
//! While the store is not writable (disk full, read-only, locked), decisions continue in memory and [`Health`] reports
//! the fault. Events are held in a bounded spool and written once the store recovers. A process that exits before saves
//! them as a file ([`spool`]).
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | [`access`] | access to an engine in-process or behind a queue |
//! | `assembly` | builds an engine from state directory and configuration |
//! | [`engine`] | the engine |
//! | `transaction`, `persist_effects`, `ancestors`, `shared_budgets` | one transaction |
//! | `call_log` | the calls of a session, and spend by hour |
//! | `restore` | restores a session from snapshot and tail |
//! | `recovery`, `memory_fallback` | retries, and decisions without a store |
//! | `held_file` | the held sessions, in a file next to the store |
//! | [`spool`] | events of hook processes that could not write, in files |
//! | `tombstone` | notes to a project's next session |
//! | `retention` | pruning |
//! | `cache` | cached sessions |
//! | [`rules_cache`] | the rules of each session, by digest |
//! | [`health`] | health and counters |

pub mod access;
mod ancestors;
mod assembly;
mod cache;
mod call_log;
pub mod engine;
mod error;
pub mod health;
mod held_file;
mod memory_fallback;
mod persist_effects;
mod recovery;
mod restore;
mod retention;
pub mod rules_cache;
mod shared_budgets;
pub mod spool;
mod tombstone;
mod transaction;

pub use access::EngineAccess;
pub use ancestors::MAX_ANCESTORS;
pub use assembly::{Flags, open, open_for_hook, open_with_fallback};
pub use call_log::{ReplayedCalls, replay_calls};
pub use engine::{Engine, EngineOptions, StoreOpener};
pub use error::{EngineError, ObserveError};
pub use health::{Health, Metrics};
pub use held_file::HeldFile;
pub use rules_cache::{RulesProvider, RulesScope};
pub use spool::{SpoolContent, SpoolDir, SpoolError, TakenIn};
