//! Review loops: one agent builds, others review, until the work is right or a person is needed.
//!
//! # Theory of operation
//!
//! This crate decides and does nothing else: no IO, no clock, no processes. The resident process performs what
//! [`next`](belay_core::task::Machine::next) asks for, agents in a process of their own each (`belay exec`), and reports
//! back with journal records.
//!
//! ```text
//!             +--------------------------- next() ---------------------------+
//!             |                                                              v
//!   journal --+--> Task (state) <-- apply(Record) <-- the edge: runs, gates, worktrees, people
//! ```
//!
//! A task is what its journal says. [`apply`](belay_core::task::Journalled::apply) is the only way to change one, and the
//! journal holds every record, so that replaying it after a crash gives the same task. A step is journalled before it starts and after it finished;
//! a step that started without finishing died with the process that ran it, and runs again.
//!
//! Loops of agents that review each other rarely end by themselves, for four reasons, and each has its answer here:
//!
//! | reason | answer |
//! |---|---|
//! | the same issue is raised again | [`Ledger`]: an issue keeps its identity across wordings, and a closed one needs new evidence |
//! | each fix seeds the next issue | [`Provenance`]: round 1 sets the bar; two reseeding rounds revert the fix and ask for a failing test |
//! | the rest is out of the agent's reach | the verdict [`VerdictStatus::BlockedOnHuman`] names what a person has to do |
//! | builder and reviewer disagree | [`convergence`]: no progress for some rounds asks a third reviewer, then a person |
//!
//! The builder can never end a loop. Reviewers can, a gate that Belay ran can veto, and a person's word outranks both.
//!
//! [`Provenance`]: ledger::Provenance
//! [`VerdictStatus::BlockedOnHuman`]: verdict::VerdictStatus::BlockedOnHuman

pub mod claim;
pub mod convergence;
pub mod diff;
pub mod ledger;
pub mod prompt;
pub mod severity;
pub mod task;
pub mod verdict;

pub use ledger::Ledger;
pub use severity::Severity;
pub use task::Task;
pub use verdict::Verdict;
