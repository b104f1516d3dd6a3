//! The scheduler, in-process: tasks of a toy driver whose steps do as they are told.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene should fail there")]

mod scheduling;
mod support;
mod toy;
