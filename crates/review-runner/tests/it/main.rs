//! Integration tests of the runner.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "test support")]

mod import;
mod recorded;
