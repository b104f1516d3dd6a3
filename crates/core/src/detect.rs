//! The patterns: same action, same outcome, no progress in between.
//!
//! A pattern is a small pure function from a [`View`] of the session to a [`Claim`], and the words to
//! tell it by. It counts; it does not judge. Whether a count is worth a notice, a nudge or a pause is
//! the ladder's business ([`crate::policy`]), and every number stands in `rules.toml`.
//!
//! What all patterns have in common:
//! - *batches count, not calls*: what was asked side by side was one decision;
//! - plans, questions to a person and what a person allowed are no evidence;
//! - polls and outages have patterns of their own and never count as circles;
//! - a person's turn wipes the slate ([`crate::session::Window::forgive`]).

mod claim;
pub(crate) mod custom;
mod repeats;
mod view;
mod words;

pub mod patterns;

pub use claim::{Claim, Matcher, Strength};
pub use patterns::{Pattern, Trigger};
pub use view::View;
pub(crate) use words::VOICE;
pub use words::{Words, tokens};
