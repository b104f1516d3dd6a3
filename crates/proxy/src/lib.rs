//! The proxy between agents and model APIs.
//!
//! # Theory of operation
//!
//! An agent's base URL points at Belay. Every request is relayed byte for byte to its model API, and every response is
//! relayed as it arrives. Nothing is parsed and serialised again: heads keep their lines, bodies keep their bytes, including
//! chunk sizes and trailers.
//!
//! One task serves one connection of an agent ([`connection`]). One request and its response are one [`exchange`]: a
//! poll-driven pair of directions without channels or further tasks. Connections to upstreams are pooled ([`upstream`]).
//! Buffers are pooled and bounded ([`buffer_pool`]).
//!
//! The exchange shows every byte to the inspection ([`inspect`]) after it has been sent: the request once its last byte
//! is flushed, and each piece of the response once it is written. A recorder thread turns the results into events for the
//! [`supervisor`].
//!
//! | module | contents |
//! |---|---|
//! | [`framing`] | where a body ends |
//! | [`head`] | request and response heads |
//! | [`client_conn`] | the client's side of a connection |
//! | [`socket`] | a connection, plain or encrypted |
//! | [`tls_listener`] | TLS of clients on other machines |
//! | [`routes`] | which upstream a request is for, and which requests Belay answers |
//! | [`dispatch`] | what happens to a request, by its head |
//! | [`upstream`] | model APIs: base URLs, keys, guards, connections |
//! | [`connection`] | one connection of an agent |
//! | [`access`] | which users may send requests |
//! | [`connection_limit`] | how many connections may be open |
//! | [`admission`] | requests of held sessions |
//! | [`exchange`] | one request and its response |
//! | [`inspect`] | sessions, new messages, responses and cuts |
//! | [`sse`] | server-sent events |
//! | [`supervisor`] | the interface to the engine that decides |
//! | [`messages`] | the text of Belay's own responses |

#![expect(rustdoc::private_intra_doc_links, reason = "the theory of operation is for readers of the source")]

mod access;
mod admission;
mod buffer_pool;
mod client_conn;
mod connection;
mod connection_limit;
mod dispatch;
mod exchange;
pub mod framing;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod head;
mod inspect;
mod local_response;
mod local_service;
mod messages;
mod relay;
mod routes;
mod socket;
pub mod sse;
mod supervisor;
mod sync;
mod tls_listener;
mod upstream;

pub use access::Access;
pub use buffer_pool::MemoryCharge;
pub use inspect::{LOOP_WATCHDOG_AGENT, ReportedQuota};
pub use local_response::LocalResponse;
pub use local_service::{LocalService, PrefixedIo};
pub use relay::{Config, Relay, ReservedBytes, StartError};
pub use supervisor::{AllowAll, BoxFuture, HoldState, RemainingBudget, Supervisor};
pub use upstream::{Auth, UpstreamConfig, UpstreamConfigError, UpstreamError};
