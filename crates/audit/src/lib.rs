//! `belay audit`: history replayed through the very code that watches live.
//!
//! # Theory of operation
//!
//! [`find`] collects session files: those named, or those of every agent this user has. Files that
//! copy each other (forks, resumes, checkpoints share ids) form a family and are replayed one after
//! the other, so that what stands in several of them counts once; families are replayed side by
//! side. A replay feeds events to [`belay_core::Session`]s and notes every step the policy takes.
//! When a session's last event is in, what is left is a small [`SessionReport`]; it goes to the
//! caller and into [`Totals`], in an order that does not depend on which thread was quicker. So
//! neither the size of a file nor the number of sessions shows in memory.
//!
//! A *loop* is what happens from the first call of a finding's evidence until the session moves
//! again: a sign of progress, a person's turn, or its end. *Saved* is what was spent in a loop after
//! the step that would have stopped it.
//!
//! # Map
//!
//! | module | what it holds |
//! |---|---|
//! | [`find`] | which files, and who reads them |
//! | [`fork_groups`] | which of them copy each other |
//! | [`replay`] | events into sessions, steps into loops |
//! | [`totals`] | sums over sessions, the worst loops |
//! | [`report`] | the text for people, the page, the JSON lines |

mod collector;
pub mod discover;
pub mod fork_groups;
mod ledger;
mod loop_tracker;
pub mod replay;
pub mod report;
pub mod run;
pub mod session_report;
pub mod totals;

pub use collector::{Collector, Report};
pub use discover::{Discovery, SearchScope, SessionFile, find};
pub use loop_tracker::{InterventionTime, Loop, PlannedIntervention};
pub use run::{Progress, RuleSet, SessionFilter, run};
pub use session_report::{ModelSpend, SessionReport, VariantResult};
pub use totals::Totals;
