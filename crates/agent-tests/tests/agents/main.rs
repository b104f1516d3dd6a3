//! The real agent CLIs, alone and under Belay. `cargo xtask test agents` installs them and builds `belay` first.

mod baseline;
mod exec;
mod hooks;
mod proxy;
mod review;
