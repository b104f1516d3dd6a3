//! Processes: bounding a child, finding everything that a command has started, and what the system knows about others.
//!
//! A process id is used again after its process has ended, so an id alone never identifies a process that this one did
//! not start. [`start_time`] completes it; [`ProcessMarker`] needs no id at all and also finds processes after a crash of
//! the one that started them. What a system does not tell is `None` or empty, and then nothing is signalled.
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | `child` | child processes with a timeout |
//! | `marker` | a file by which every process that a command has started is found and ended |
//! | `tree` | everything that a run has started and that is still alive |
//! | `process` | other processes: names, ancestors, start times, interrupts |
//! | `state` | whether the process of a session is alive |

// Needs signals and process groups; on other systems `belay` reports that it does not run.
#![cfg(unix)]

mod child;
mod marker;
mod process;
mod state;
mod tree;

pub use child::wait_timeout;
pub use marker::ProcessMarker;
pub use process::{Process, ancestors, interrupt, running_since, start_time};
pub use state::{child_since, process_state};
pub use tree::ProcessTree;
