//! The resident process.
//!
//! # Theory of operation
//!
//! `belay serve` is one process per state folder ([`instance`] holds a lock to keep it so). It owns
//! one engine behind a queue ([`writer`]); whoever brings an event either finds nobody at work and
//! does the work itself, or rides along in the commit of somebody else.
//!
//! There are two ways in. Hooks, the CLI and other local programs use a Unix socket that only its
//! owner may open; a small pool of plain threads serves it ([`socket`]), because a thread that waits
//! in `accept` answers sooner than a runtime that has to be woken. Browsers and scripts use HTTP on
//! a loopback address (`http`), which is asynchronous and comes with its own guards: a page from
//! elsewhere must not be able to talk to us through the user's browser.
//!
//! Leaving is a message like any other ([`stop`]): a signal, `belay stop` or idleness sets it off.
//! The socket disappears first, so that new callers decide by themselves; what is under way is
//! answered; what is queued is written; then the lock goes.
//!
//! The protocol of the socket and its client are in `belay-ipc`.

// It lives on Unix sockets, signals and processes; elsewhere there is nothing of it, and `belay` says so.
#![cfg(unix)]

mod alert_dispatcher;
mod budget_cache;
pub mod daemon;
pub mod group_commit;
mod hold_index;
mod housekeeping;
mod http;
pub mod instance_lock;
mod intake;
mod ipc_connection;
pub mod ipc_server;
mod listeners;
pub mod log_file;
mod ops;
mod pending_run_budgets;
pub mod proxy_service;
mod read_pool;
mod run_store;
pub mod shutdown;
mod state;
pub mod token;
pub mod views;

pub use alert_dispatcher::build_webhook;
pub use daemon::{Daemon, ServeError, ServeOptions};
pub use intake::{Authority, decide, observe_json};

/// The version of this build, as every answer that names one says it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
