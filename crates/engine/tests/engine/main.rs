//! The engine as its users meet it: on a real store, with real faults.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;
mod family;
mod faults;
mod observe;
mod replay;
mod retention;
