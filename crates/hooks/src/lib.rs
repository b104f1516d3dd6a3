//! From an agent's hook to the engine's decision and back.
//!
//! # Theory of operation
//!
//! `belay hook <agent> [event]` is started by the agent, gets a payload on standard input and has a
//! few milliseconds. It makes an [`Ask`] of what it got, mints the id of the event, and hands it to
//! the resident process over its socket. Does that not answer in time, it decides by itself on the
//! same store: the same function, [`handle`], with the same id, so that nothing counts twice however
//! the race ends. Does that fail as well, the agent goes on and the fault is logged. Whatever
//! happens, the exit status is 0 and nothing but the answer is on standard output: agents read other
//! statuses and stray bytes as "deny".
//!
//! [`handle`] has the payload understood by the agent's dialect, adds what only this machine knows
//! ([`ground`]: what a file holds after an edit, what the agent's own session file has to say), lets
//! the engine decide, and has the dialect put the decision into the agent's words.
//!
//! # Map
//!
//! | module | what it holds |
//! |---|---|
//! | [`mod@handle`] | one hook call from payload to answer |
//! | [`watch`] | what a hook needs of the engine, in whichever process it runs |
//! | [`ground`] | facts only this machine knows |
//! | [`thin`] | the hook process: arguments, standard input, the two ways, the answer |
//! | [`autostart`] | starting the resident process, once and detached |
//! | [`children`] | programs we start that get their time and no more |
//! | [`summary`] | what a session came to, told once at its end |
//! | [`install`] | putting hooks into agents' settings, and taking them out again |

// It lives on Unix sockets, signals and processes; elsewhere there is nothing of it, and `belay` says so.
#![cfg(unix)]

pub mod bounded_child;
pub mod daemon_autostart;
mod engine_queries;
pub mod handler;
mod hook_log;
pub mod install;
pub mod local_facts;
pub mod process;
pub mod session_summary;
mod tombstones;

pub use handler::{HookState, handle_hook};

/// The time of day.
pub(crate) fn now() -> belay_core::Timestamp {
    use belay_engine::Clock;
    belay_engine::SystemClock::default().now()
}
