//! Delivery of alerts to people and programs.
//!
//! # Theory of operation
//!
//! The engine enqueues a message in the store's outbox in the transaction of the event it follows from; the resident
//! process enqueues one about each review task that needs a person ([`message_about`]). Neither knows channels. The resident process runs a [`Dispatcher`], which does three things.
//!
//! 1. *Route*: each new message gets one delivery per configured channel. From then on, the state of a message is kept
//!    per channel: what the desktop refused can still be pending for the webhook.
//! 2. *Claim*: one worker thread per channel claims one due delivery at a time, with a lease. If the process dies, the
//!    delivery is due again when the lease ends. A channel that hangs delays only itself.
//! 3. *Record*: the result of each attempt is sent, skipped, failed, or pending with the delay of the channel's retry
//!    policy. The log reports a delivery after the store has recorded it.
//!
//! So each channel gets each alert at least once, and the id of an alert stays the same over all attempts. Delays are
//! stored together with the time they started at; if the clock is set back, a delay starts again and is not extended.
//!
//! A [`Channel`] is one file in [`channels`] and one line in its registry. The desktop shows an alert while it is fresh
//! and is never retried. A webhook is a POST with [Standard Webhooks](https://www.standardwebhooks.com) headers; it goes
//! only where the user's own configuration says, follows no redirect, and connects to the address that was checked.
//!
//! # Map
//!
//! | module | what it holds |
//! |---|---|
//! | [`alert`] | an alert and its text |
//! | [`channel`] | the `Channel` trait and its errors |
//! | [`channels`] | the registry and the channels, one file each |
//! | [`attempt`] | one delivery: claim, attempt, record |
//! | [`dispatcher`] | routing, worker threads, shutdown |

pub mod alert;
pub mod attempt;
pub mod channel;
pub mod channels;
pub mod dispatcher;
#[cfg(test)]
mod test_support;

pub use alert::{Alert, AlertKind, message_about};
pub use attempt::Outbox;
pub use channel::{Channel, ChannelProblem, DeliveryError};
pub use channels::webhook::body::WebhookBody;
pub use dispatcher::Dispatcher;
