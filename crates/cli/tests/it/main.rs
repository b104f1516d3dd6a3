//! Tests of the real `belay` binary, each with a temporary home.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene should fail there")]

mod audit;
mod binary;
mod ci;
mod config;
mod decisions;
mod demo;
#[cfg(target_os = "linux")]
mod disk;
mod doctor;
mod durability;
mod empty;
mod hook;
mod http;
mod import;
mod init;
mod injection;
mod invalid_config;
mod live;
mod misc;
mod news;
mod operator;
mod post;
mod receiver;
mod relaying;
mod resident;
mod run;
mod serve;
mod sharing;
mod starting;
mod statusline;
mod terminal;
mod tombstones;
mod unwritable;
mod waiting;
mod watchdog;
mod world;
