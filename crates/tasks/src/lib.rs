//! Durable driven work, for all drivers.
//!
//! The pure half, and how both work together, is [`belay_core::task`].
//!
//! | module | contents |
//! |---|---|
//! | [`journal`] | the records of a state on disk: applied to a copy, appended, synced, and then believed |
//! | [`wait`] | whether what a task or an agent waits for has happened |
//! | [`mailbox`] | messages to agents, each delivered until there is proof that it was read |

#![cfg(unix)]

pub mod journal;
pub mod mailbox;
pub mod wait;

pub use journal::{Entries, Entry, Journal, JournalError};
