//! Telling people and programs what happened.
//!
//! # Theory of operation
//!
//! The engine writes news into the store's outbox together with the event it follows from. A
//! [`Dispatcher`] takes what is due, tells it, and notes how that went; so news survives a crash at any
//! point and is told at least once. A message that could not be delivered comes due again later,
//! each time after a longer pause, under the same id: a receiver can tell a repetition.
//!
//! There are two channels. A notification on the desktop is for the moment: it is shown once and
//! never retried. A webhook is a POST with [Standard Webhooks](https://www.standardwebhooks.com)
//! headers; it goes only where the user's own configuration says, follows no redirect, and connects
//! to the very address that was checked.
//!
//! # Map
//!
//! | module | what it holds |
//! |---|---|
//! | [`dispatcher`] | the rounds: claim, tell, note; when to try again |
//! | [`alert`] | a message of the outbox in words |
//! | [`desktop`] | notify-send and osascript, by argv |
//! | [`webhook`] | bodies, signatures, and a POST that cannot be led astray |

pub mod alert;
pub mod desktop;
pub mod dispatcher;
pub mod webhook;

pub use alert::Alert;
pub use dispatcher::{Channels, Dispatcher, Outbox};
pub use webhook::{Webhook, WebhookBody, WebhookFormat};
