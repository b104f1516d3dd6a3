//! On the rope between agent and model.
//!
//! # Theory of operation
//!
//! An agent's base URL points at us. Every request is relayed byte for byte to the model API it is
//! meant for, and every answer comes back as it arrives. Nothing is parsed and written anew: heads
//! keep their lines, bodies keep their bytes, chunk sizes and trailers included.
//!
//! One connection of an agent is one task ([`connection`]); one request and its answer are one
//! [`exchange`], a poll-driven pair of directions without channels or further tasks. Connections
//! to upstreams are pooled ([`upstream`]). Memory in flight is pooled and bounded ([`buffer`]).
//!
//! | module | what it holds |
//! |---|---|
//! | [`framing`] | where a body ends |
//! | [`head`] | heads, understood and otherwise left as they are |
//! | [`route`] | which upstream a request is for, and which requests are ours |
//! | [`upstream`] | model APIs: base URLs, keys, guards, connections |
//! | [`exchange`] | one request and its answer |
//! | [`connection`] | one connection of an agent |
//! | [`plan`] | what becomes of a request, by its head |
//! | [`inspect`] | what passes, read on copies: who asks, what is new, what was answered |
//! | [`sse`] | server-sent events, decoded as they pass |
//! | [`judge`] | the seam to whoever decides |
//! | [`held`] | what happens to a request of a held session |
//! | [`words`] | what we say when the answer is our own |

#![expect(rustdoc::private_intra_doc_links, reason = "the theory of operation is for those who read the source")]

mod admission;
mod buffer_pool;
mod client_conn;
mod connection;
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
pub mod sse;
mod supervisor;
mod upstream;

pub use local_service::{LocalService, PrefixedIo};
pub use relay::{Config, Relay, StartError};
pub use supervisor::{AllowAll, BoxFuture, HoldState, RemainingBudget, Supervisor};
pub use upstream::{Auth, UpstreamConfig, UpstreamConfigError, UpstreamError};
