//! Tests of the real `belay` binary, each with a temporary home.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene should fail there")]

mod approvals;
mod attacks;
mod audit;
mod binary;
mod ci;
mod config;
mod dashboard;
mod decisions;
mod demo;
#[cfg(target_os = "linux")]
mod disk;
mod doctor;
mod durability;
mod empty;
#[cfg(target_os = "linux")]
mod exec;
mod explain;
mod flood;
mod history;
mod hook;
mod hook_environment;
mod http;
mod import;
mod init;
mod injection;
mod invalid_config;
mod live;
mod login;
mod messages;
mod misc;
mod news;
mod open;
mod operator;
mod post;
mod receiver;
mod relaying;
mod remote;
mod resident;
#[cfg(target_os = "linux")]
mod review;
mod run;
mod serve;
mod sharing;
mod starting;
mod statusline;
mod terminal;
mod tombstones;
mod top;
mod trial;
mod unwritable;
mod upgrade;
mod waiting;
mod waiting_hooks;
mod watchdog;
mod world;
