//! Detection patterns: same action, same outcome, no progress in between.
//!
//! A pattern is a pure function from a [`CallContext`] to a [`Claim`], plus a function for its text. It counts
//! occurrences; it does not decide. The ladder ([`crate::policy`]) decides whether a count leads to a notice,
//! a nudge or a pause, and all thresholds are in `rules.toml`.
//!
//! Rules common to all patterns:
//! - batches count, not calls: calls made in parallel are one decision;
//! - plans, questions to a person and allowed calls are not evidence;
//! - polls and outages have their own patterns and never count as other loops;
//! - a prompt by a person clears the evidence ([`crate::session::CallWindow::drop_evidence`]).

mod call_context;
mod claim;
pub(crate) mod custom_patterns;
mod repeat_count;
mod wording;

pub mod patterns;

pub use call_context::CallContext;
pub use claim::{Claim, NudgeTarget, Strength};
pub use patterns::{Pattern, Trigger};
pub use wording::Wording;
pub(crate) use wording::{MESSAGE_PREFIX, denied_sentence};
