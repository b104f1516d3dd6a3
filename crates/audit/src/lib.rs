//! `belay audit`: replays history through the code that supervises live sessions.
//!
//! # Theory of operation
//!
//! [`find`] collects session files: those named, or those of all agents of this user. Files that copy each other (forks,
//! resumed sessions and checkpoints share ids) form a group and are replayed in sequence, so that a record in several of
//! them counts once. Groups are replayed in parallel. A replay applies events to [`belay_core::Session`]s and records
//! every step of the policy. After its last event, a session is reduced to a small [`SessionReport`], which goes to the
//! caller and into [`Totals`] in an order that does not depend on the threads. Memory use is therefore independent of
//! file sizes and of the number of sessions.
//!
//! A *loop* lasts from the first call of a finding's evidence until the session makes progress and the repetition is not
//! seen again, a person takes a turn, or the session ends. *Saved* is the cost of a loop after the step that would have
//! stopped it; its confidence follows from how often the repetition continued after that step.
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | [`find`] | session files and their formats |
//! | [`fork_groups`] | files that copy each other |
//! | [`replay`] | applies events to sessions and steps to loops |
//! | [`totals`] | totals over sessions, the most expensive loops |
//! | [`report`] | text, HTML and JSON lines |
//! | `tune` | settings that a history suggests |

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
mod tune;

pub use collector::{Collector, Report};
pub use discover::{Discovery, SearchScope, SessionFile, find};
pub use loop_tracker::{Confidence, InterventionTime, Loop, PlannedIntervention};
pub use run::{Progress, RuleSet, SessionFilter, run};
pub use session_report::{ModelSpend, SessionReport, VariantResult};
pub use totals::Totals;
pub use tune::Tuning;
