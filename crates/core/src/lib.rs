//! The words and the judgement of Belay, with nothing around them.
//!
//! # Theory of operation
//!
//! A *sensor* (a hook, the proxy, a transcript reader, ...) tells what happened as an [`Event`].
//! An event belongs to one [`Session`]; [`Session::apply`] takes it in, updates counters, the
//! progress clock and the bounded window the detectors look at, and answers with [`Effect`]s:
//! findings, interventions, incidents, a change of state. Nothing else ever changes a session.
//!
//! Everything here is a pure function of its arguments. There is no IO, no clock, no randomness
//! and no async: time comes in events, ids are minted by sensors or derived from what they name.
//! Therefore replaying a log gives the same decisions, and audit, tests, tuning and live use run
//! the very same code. `tests/purity.rs` and `clippy.toml` keep it so.
//!
//! Texts that came from outside live in an [`Excerpt`]: bounded and free of secrets by
//! construction, whichever way it was made.
//!
//! # Map
//!
//! | module | what it holds |
//! |---|---|
//! | [`event`] | the neutral schema every sensor speaks |
//! | [`action`] | what a tool call *does*: fingerprints free of volatile parts |
//! | [`outcome`] | what it led to: normalised text, error family, failing set |
//! | [`session`] | state machine, counters, clock, window; `apply` |
//! | [`detect`] | the patterns: same action, same outcome, no progress in between |
//! | [`policy`] | the ladder from finding to intervention |
//! | [`rules`] | every threshold, as data |
//! | [`prices`] | what models cost and take in |
//! | [`repetition`] | output that repeats itself, while it streams |
//! | [`redact`] | what a secret looks like |
//! | [`simhash`] | how alike two texts are |

pub mod action;
pub mod detect;
pub mod digest;
pub mod effect;
pub mod event;
pub mod excerpt;
pub mod glob;
pub mod key;
mod literal_set;
pub mod outcome;
pub mod policy;
pub mod prices;
pub mod redact;
pub mod repetition;
pub mod rules;
pub mod session;
pub mod simhash;
pub mod time;

pub use action::{Action, Tool, ToolKind};
pub use digest::Digest;
pub use effect::{Decision, Effect, EventOutcome, Finding, Incident, Intervention, InterventionLevel, Verdict};
pub use event::{Body, Event, Source};
pub use excerpt::Excerpt;
pub use key::SessionKey;
pub use outcome::{CallStatus, Outcome};
pub use rules::Rules;
pub use session::{Session, SessionState};
pub use time::Timestamp;
