//! Driving agents: starting them, bounding them, and checking what they did.
//!
//! # Theory of operation
//!
//! Every run is a supervised session. The drivers (review loops, goals, fleets) do not supervise: they start agents
//! through this crate, and detectors, budgets and pauses apply inside the run as they do outside. A pause is a waiting
//! state of the driver, never an error.
//!
//! Decisions are pure; side effects are at the edge. A driver is a function `decide(state, now, evidence) -> actions`;
//! this crate carries the actions out. Each action is journalled before and after, so that a crash resumes after the
//! last finished step and nothing runs twice.
//!
//! | module | purpose |
//! |---|---|
//! | [`launch`] | starts an agent or any other command under supervision and waits for it: `belay run` |
//! | [`run_dir`] | the files of a run, and whether its agent is alive |
//! | [`headless`] | one bounded run of an agent without a terminal: typed progress and one result: `belay exec` |
//! | [`gate`] | a command that Belay itself runs, bound to the tree it ran on |
//! | [`workspace`] | a worktree or the directory itself: snapshots, diffs, landing; removed only after its work landed |
//! | [`environment`] | the environment of driven work: that of the shell that filed it |
//! | [`limits`] | usage limits by account, kept over restarts |
//! | `tmux` | planned: agents in panes |
//!
//! The crate prints nothing. Callers receive progress through [`launch::Progress`] and [`headless::Observer`].

// Runs need Unix sockets, signals and process groups.
#![cfg(unix)]

pub mod environment;
pub mod gate;
pub mod headless;
pub mod launch;
pub mod limits;
pub mod run_dir;
pub mod workspace;
