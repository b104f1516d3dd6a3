//! The resident process.
//!
//! # Theory of operation
//!
//! `belay serve` is one process per state directory; [`instance_lock`] ensures that. It owns one engine behind a queue
//! ([`group_commit`]): a caller that finds the engine free commits its events itself, otherwise they are committed
//! together with those of other callers.
//!
//! There are two ways in. Hooks, the CLI and other local programs use a Unix socket that only its owner may open. A small
//! pool of threads serves it ([`ipc_server`]), because a thread that blocks in `accept` responds sooner than a runtime
//! that has to be woken. The protocol and its client are in `belay-ipc`. Browsers and scripts use HTTP on a loopback
//! address, or with TLS on another one (`http`, `listeners`). It is asynchronous and has its own guards: a page from
//! another site must not reach Belay through the user's browser, and a browser decides only with a login (`logins`).
//!
//! A signal, `belay stop` or the idle timeout starts an orderly shutdown ([`shutdown`]). The socket disappears first, so
//! that new callers decide in-process; requests in flight are answered; queued events are written; then the lock is
//! released.

// Needs Unix sockets, signals and processes. On other systems `belay` reports that it is not supported.
#![cfg(unix)]

mod alert_dispatcher;
mod approvals;
mod audits;
mod budget_cache;
pub mod daemon;
pub mod dashboard;
mod follower;
pub mod group_commit;
mod history;
mod hold_index;
mod housekeeping;
mod http;
pub mod instance_lock;
mod intake;
mod ipc_connection;
pub mod ipc_server;
mod limits;
mod listeners;
mod live;
pub mod log_file;
mod logins;
mod mail;
mod needs;
mod operator;
mod ops;
mod pending_run_decisions;
pub mod proxy_service;
mod read_pool;
pub mod reads;
mod request_memory;
mod reviews;
mod run_store;
mod session_files;
pub mod shutdown;
mod state;
mod sync;
mod tickets;
mod tls_identity;
pub mod token;
mod trial;
pub mod views;
mod write_throttle;

pub use daemon::{Daemon, ServeError, ServeOptions};
pub use intake::{Authority, decide, observe_json, requires_owner};
pub use listeners::ListenError;
pub use logins::revoke_stored as revoke_stored_logins;
pub use reads::StoreRead;
pub use tickets::TIMEOUT_MARGIN;

/// The version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
