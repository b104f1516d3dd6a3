//! Integration tests of the engine on a real store with real faults.
#![expect(clippy::unwrap_used, reason = "tests")]

mod budgets;
#[cfg(target_os = "linux")]
mod disk;
mod faults;
mod fixtures;
#[cfg(unix)]
mod kill;
mod observe;
mod replay;
mod retention;
mod spool;
mod sub_agents;
