//! Inspects requests and responses while they are relayed.
//!
//! An [`ExchangeInspection`] accompanies one request and its response on the task that relays them. The request is read
//! once, after its last byte was flushed to the upstream or when the response starts earlier. Each piece of the response
//! is read right after it was written to the client. A cut has to continue at the exact position of the event stream, the
//! content encoding and the framing, so the response is read where it is written.
//!
//! The [`recorder`] only turns finished records into events.

mod anonymous_sessions;
mod content_encoding;
mod events;
#[cfg(any(test, fuzzing))]
mod fuzz;
mod history;
mod inspection;
mod inspector;
mod json_scan;
mod quota;
mod recorder;
mod request_meta;
mod response_reader;
mod session_cache;
mod session_id;
#[cfg(test)]
mod tests;
mod token_estimate;
mod wire;

pub use belay_agents::quota::ReportedQuota;
#[cfg(any(test, fuzzing))]
pub(crate) use fuzz::{fuzz_history, fuzz_response};
pub(crate) use inspection::{CutReason, ExchangeInspection, ResponseMeta};
pub(crate) use inspector::Inspector;
pub(crate) use quota::is_limit_header;
pub(crate) use request_meta::RequestMeta;
pub use session_id::LOOP_WATCHDOG_AGENT;
