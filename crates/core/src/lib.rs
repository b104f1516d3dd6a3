//! Belay's domain model and decision logic, free of side effects.
//!
//! # Theory of operation
//!
//! A *sensor* (a hook, the proxy, a transcript reader, ...) reports what happened as an [`Event`].
//! An event belongs to one [`Session`]. [`Session::apply`] updates the counters, the progress clock
//! and the bounded window that detectors evaluate, and returns [`Effect`]s: findings, interventions,
//! incidents, state changes. Nothing else changes a session.
//!
//! Everything here is a pure function of its arguments. There is no IO, no clock, no randomness
//! and no async: time arrives in events, and ids are assigned by sensors or derived from content.
//! Replaying a log therefore gives the same decisions, and audit, tests, tuning and live use run
//! the same code. `tests/it/purity.rs` and `clippy.toml` enforce this.
//!
//! External text is stored only as an [`Excerpt`], which is bounded and redacted by construction, or as a name or id that
//! [`Event::redact_names`] has redacted.
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | [`event`] | the agent-neutral event schema |
//! | [`action`] | fingerprints of tool calls, without volatile parts |
//! | [`outcome`] | results of tool calls: normalised text, error family, failing tests |
//! | [`session`] | state, counters, progress clock, call window; `apply` |
//! | [`detect`] | detection patterns: same action, same outcome, no progress in between |
//! | [`policy`] | the ladder from finding to intervention |
//! | [`rules`] | all thresholds, as data |
//! | [`prices`] | prices and context windows of models |
//! | [`repetition`] | detection of degenerate output in a stream |
//! | [`mod@format`] | numbers, money and durations as text |
//! | [`redact`] | redaction of secrets |
//! | [`simhash`] | similarity of texts |
//! | [`status`] | what a session is doing, with the reason |
//! | [`subject`] | what an alert, a need or a decision is about |
//! | [`task`] | driven work as a state machine that its journal describes |
//! | [`wait`] | what work waits for |

pub mod action;
pub mod decision;
pub mod detect;
pub mod digest;
pub mod effect;
pub mod event;
pub mod exact;
pub mod excerpt;
pub mod format;
pub mod glob;
pub mod key;
mod literal_set;
pub mod outcome;
pub mod policy;
pub mod prices;
pub mod printable;
pub mod redact;
pub mod repetition;
pub mod rules;
pub mod session;
pub mod simhash;
pub mod status;
pub mod subject;
pub mod task;
pub mod time;
pub mod wait;
pub mod waste;

pub use action::{Action, Tool, ToolKind};
pub use digest::Digest;
pub use effect::{Decision, Effect, EventOutcome, Finding, Incident, Intervention, InterventionLevel, Verdict};
pub use event::{Body, Event, Source};
pub use excerpt::Excerpt;
pub use key::SessionKey;
pub use outcome::{CallStatus, Outcome};
pub use rules::Rules;
pub use session::{Session, SessionState};
pub use subject::Subject;
pub use time::Timestamp;
