//! Compatibility with Loop Watchdog, heartbeat and `loop`.
//!
//! Their clients, settings and recorded sessions work with Belay. Each system is one module; no other crate knows its
//! formats. Loop Watchdog's endpoints reach the engine through [`loop_watchdog::Backend`], which the server implements.
//!
//! | module | contents |
//! |---|---|
//! | [`loop_watchdog::event`] | the events its clients post, and their mapping to [`Event`](belay_core::Event) |
//! | [`loop_watchdog::routes`] | its HTTP endpoints |
//! | [`loop_watchdog::refusal()`] | the responses to model requests of held sessions |
//! | [`loop_watchdog::import`] | its settings and its state file |
//! | [`heartbeat::import`] | its settings |
//! | [`heartbeat::pattern`] | its pattern files |
//! | [`loop_dashboard`] | the variables, database and artifacts of `loop` |
//! | [`import`] | what the imports share |

pub mod heartbeat;
pub mod import;
pub mod loop_dashboard;
pub mod loop_watchdog;
