//! The patterns: same action, same outcome, no progress in between.
//!
//! A pattern is a small pure function from a [`CallContext`] of the session to a [`Claim`], and the words to
//! tell it by. It counts; it does not judge. Whether a count is worth a notice, a nudge or a pause is
//! the ladder's business ([`crate::policy`]), and every number stands in `rules.toml`.
//!
//! What all patterns have in common:
//! - *batches count, not calls*: what was asked side by side was one decision;
//! - plans, questions to a person and what a person allowed are no evidence;
//! - polls and outages have patterns of their own and never count as circles;
//! - a person's turn wipes the slate ([`crate::session::CallWindow::drop_evidence`]).

mod call_context;
mod claim;
pub(crate) mod custom_patterns;
mod repeat_count;
mod wording;

pub mod patterns;

pub use call_context::CallContext;
pub use claim::{Claim, NudgeTarget, Strength};
pub use patterns::{Pattern, Trigger};
pub(crate) use wording::MESSAGE_PREFIX;
pub use wording::{Wording, tokens};
