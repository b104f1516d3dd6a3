//! The engine as its users meet it: on a real store, with real faults.
#![expect(clippy::unwrap_used, reason = "tests")]

mod budgets;
mod common;
#[cfg(target_os = "linux")]
mod disk;
mod family;
mod faults;
#[cfg(unix)]
mod kill;
mod observe;
mod replay;
mod retention;
