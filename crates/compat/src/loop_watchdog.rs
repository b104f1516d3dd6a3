//! Loop Watchdog: its events, endpoints, refusals, settings and sessions.

mod backend;
mod cause;
mod endpoints;
pub mod event;
pub mod import;
mod recent_events;
mod refusal;
mod simulation;
mod views;

pub use backend::Backend;
pub use belay_proxy::LOOP_WATCHDOG_AGENT as AGENT_ID;
pub use endpoints::routes;
pub use refusal::refusal;

use belay_core::Timestamp;

/// The score from which Loop Watchdog pauses a session.
const PAUSE_SCORE: f64 = 4.8;
/// The score of a session that a person killed.
const KILL_SCORE: f64 = 999.0;

/// A time with microseconds, as its clients expect.
fn format_time(at: Timestamp) -> String {
    at.to_string().replace('Z', "000Z")
}
