//! The relay with scripted upstreams and clients, byte by byte.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop there")]

mod at_once;
mod credentials;
mod cutting;
mod faults;
mod inspection;
mod interventions;
mod large;
mod mixed;
mod remote;
mod routing;
mod strain;
mod strict;
mod support;
mod tls;
mod transparent;
mod users;
