//! The resident process, and the way to talk to it.
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
//! [`client`] is the other end of the socket. It needs no runtime.

// It lives on Unix sockets, signals and processes; elsewhere there is nothing of it, and `belay` says so.
#![cfg(unix)]

pub mod client;
mod connection;
mod courier;
mod doors;
mod hooks;
mod housekeeping;
mod http;
pub mod instance;
pub mod lines;
pub mod logfile;
mod ops;
mod promises;
pub mod protocol;
pub mod proxy;
mod purses;
mod readers;
pub mod resident;
mod runs;
pub mod socket;
mod standings;
pub mod stop;
pub mod token;
pub mod view;
pub mod writer;

pub use client::{Client, ClientError, Hangup};
pub use courier::webhook;
pub use ops::canonical;
pub use resident::{Resident, ServeError, ServeOptions};

/// The version of this build, as every answer that names one says it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
