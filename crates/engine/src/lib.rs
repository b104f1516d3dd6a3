//! observe -> decide -> act: the only writer of sessions.
//!
//! # Theory of operation
//!
//! [`Engine::observe`] takes an event and answers what the agent may do. Append, apply, decide and persist happen in
//! one transaction; the answer is given after the commit. Many events may share a transaction
//! ([`Engine::observe_batch`]).
//!
//! The engine keeps the sessions it works on in memory, but trusts them only while their version equals the store's:
//! another process may have moved them on. Then they are loaded again: the newest snapshot, and the events since,
//! applied under the rules that were in force at the time. Whatever a replay says, the state in the session's row is
//! the authority, so a pause never gets lost.
//!
//! A transaction in which a session becomes paused or killed is rolled back and done again with full sync: it must
//! outlive a power cut before anybody is told.
//!
//! When the store cannot be written (disk full, read-only, locked), decisions go on in memory and loudly: see
//! [`Health`]. Events wait in a bounded spool and are written when the disk is back.
//!
//! # Map
//!
//! | module | what it holds |
//! |---|---|
//! | [`access`] | the engine as its callers see it: in-process or behind a queue |
//! | `assembly` | an engine from state folder and configuration |
//! | [`engine`] | the engine and its questions |
//! | `batch`, `effects`, `family`, `shared` | one transaction |
//! | `load` | snapshot and tail to session |
//! | `faults`, `memory` | writing, and decisions without a store |
//! | `tombstone` | what the next session of a project should know |
//! | `retention` | cleaning up |
//! | `cache` | sessions at hand |
//! | [`rules_cache`] | which rules apply where |
//! | [`health`], [`metrics`], [`clock`] | what they say |

pub mod access;
mod ancestors;
mod assembly;
mod cache;
pub mod clock;
pub mod engine;
mod error;
pub mod health;
mod memory_fallback;
pub mod metrics;
mod persist_effects;
mod recovery;
mod restore;
mod retention;
pub mod rules_cache;
mod shared_budgets;
mod tombstone;
mod transaction;

pub use access::{EngineAccess, ObserveError};
pub use assembly::{Flags, open, open_with_fallback};
pub use clock::{Clock, SystemClock};
pub use engine::{Engine, EngineOptions, StoreOpener};
pub use error::EngineError;
pub use health::Health;
pub use metrics::Metrics;
pub use rules_cache::RulesProvider;
