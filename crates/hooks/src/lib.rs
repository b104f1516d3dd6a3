//! From an agent's hook to the engine's decision and back.
//!
//! # Theory of operation
//!
//! The agent starts `belay hook <agent> [event]` with a payload on standard input and waits a few milliseconds. The
//! hook process makes the id of the event and sends a request to the resident process. If that does not respond in
//! time, the hook process decides in-process on the same store: the same function, [`handle_hook`], with the same id,
//! so the call counts once in any case. If that fails too, the agent continues and the fault is logged. The exit status
//! is always 0 and standard output has only the response, because agents read other statuses and stray bytes as "deny".
//!
//! [`handle_hook`] parses the payload with the agent's hook protocol, adds facts that only this machine knows
//! ([`local_facts`]), records the events, and puts the decision into the agent's format.
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | [`process`] | the hook process: arguments, standard input, the two ways to a decision, the response |
//! | [`handler`] | one hook call from payload to response |
//! | `engine_queries` | what a hook needs of the engine |
//! | [`local_facts`] | file contents, session files, projects, processes |
//! | [`process_chain`] | a process with all its ancestors, and the agents among them |
//! | [`daemon_autostart`] | starting the resident process once, detached |
//! | [`session_summary`] | the summary of a session at its end |
//! | [`install`] | adding hooks to agents' settings and removing them |

// Needs Unix sockets, signals and processes; on other systems `belay` reports that it does not run.
#![cfg(unix)]

pub mod daemon_autostart;
mod engine_queries;
pub mod handler;
pub mod hook_log;
pub mod install;
pub mod local_facts;
pub mod process;
pub mod process_chain;
pub mod session_summary;
mod tombstones;

pub use engine_queries::{is_held, root_session};
pub use handler::{HookHost, HookOffer, HookState, handle_hook};
pub use process::config_problem_log;
