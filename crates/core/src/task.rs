//! Driven work as a state machine that its journal describes: what reviews, goals and fleets share.
//!
//! # Theory of operation
//!
//! Work that Belay drives must survive that any process dies at any moment. Its state is therefore never stored: it is
//! what replaying its records gives ([`Journalled`]). A record is applied to a copy of the state, appended to the journal
//! and synced, and only then believed.
//!
//! ```text
//!               +------------------- next(now) -------------------+
//!               |                                                 v
//!   journal --> state <-- apply(record) <-- the edge: runs agents, gates and git; people; what it observes
//! ```
//!
//! Reviews and goals are [`Machine`]s, which run one step at a time. A step has effects, so that it is journalled twice:
//! `Started` before the first effect, `Finished` when all of them are durable. A step that started and has not finished
//! belongs to a process that died. If its agent still runs, the next process waits for it and finishes the step;
//! otherwise it records `Interrupted`, and the step runs again. So every step finishes once.
//!
//! [`Steps`] has the bookkeeping of that: which step runs, which is next, what is awaited, how often it failed, which
//! session of an agent goes on. A machine moves it with [`Steps::go_to`] and [`Steps::rest`] and adds its own rules.
//! Attempts are numbered over the whole task. So the result of an attempt that a person's decision ended is recognised
//! when it comes late, and only its cost counts.
//!
//! Waiting is not running: a step that ends in a usage limit or a pause has ended, and holds no worker until its wait is
//! over. What happens outside of any step (a session becomes idle, a result lands) is an `Observed` fact. A decision
//! depends on nothing but the records and the time, so that a replay decides the same.
//!
//! A fleet is [`Journalled`] but not a machine: many agents act at once, and the truth about them is outside.

mod failure;
mod record;
mod spend;
mod steps;
#[cfg(test)]
mod tests;
mod workspace_mode;

use serde::{Deserialize, Serialize};

pub use failure::{AfterFailure, StepFailure};
pub use record::{Journalled, Machine, Record, RecordOf};
pub use spend::Spend;
pub use steps::{Counts, Next, Running, StepError, StepRun, Steps};
pub use workspace_mode::{UnknownWorkspace, WorkspaceMode};

/// The result of a gate, bound to the tree it ran on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateResult {
    pub command: String,
    pub tree: String,
    pub passed: bool,
    /// One line: what failed.
    pub summary: String,
}
