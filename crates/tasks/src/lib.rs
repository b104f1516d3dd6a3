//! Durable driven work, for all drivers.
//!
//! # Theory of operation
//!
//! The pure half is [`belay_core::task`]: a machine, its steps and its records. This crate makes a machine durable and
//! runs it. A driver adds a [`Performer`], which knows how each step is done, and nothing about journals, threads,
//! workers or crashes.
//!
//! A task is a directory (`<state>/<driver>/<id>`) with the filed task and a journal. The journal is the truth: replaying
//! it gives the task, in this process, in the next one, and in a command that only reads.
//!
//! [`Tasks`] has one scheduler thread, which sleeps until something happens. It asks every unfinished task what is next,
//! and starts at most as many steps as there are workers, each in a thread of its own. A step that has to wait (for a
//! usage limit, a directory, a paused session) holds no worker. What all drivers compete for is in [`Resources`].
//!
//! An agent runs in a process of its own, `belay exec`, which writes its progress to a file of the task. So the agent
//! outlives a crash of the resident process: the next one finds the process by pid and start time, and takes its result
//! from the file ([`agent::adopt`]). A step whose process is gone without a result is interrupted and runs again.
//!
//! | module | contents |
//! |---|---|
//! | [`journal`] | the records of a state on disk: applied to a copy, appended, synced, and then believed |
//! | [`wait`] | whether what a task or an agent waits for has happened |
//! | [`mailbox`] | messages to agents, each delivered until there is proof that it was read |
//! | [`task_dir`] | the files of a task |
//! | [`list`] | all tasks of a driver, their summaries and names, from their files |
//! | [`Tasks`] | filing, deciding, observing, claiming; the scheduler |
//! | [`Performer`] | what a driver adds |
//! | [`agent`] | one turn of an agent in a step: started, or found again |
//! | [`agent_output`] | what `belay exec` printed |

#![cfg(unix)]

pub mod agent;
pub mod agent_output;
mod agent_run;
mod error;
mod host;
pub mod journal;
pub mod list;
pub mod mailbox;
mod open_task;
mod performer;
mod resources;
mod scheduler;
pub mod task_dir;
mod tasks;
pub mod wait;

pub use error::TaskError;
pub use host::DriverHost;
pub use journal::{Entries, Entry, Journal, JournalError};
pub use open_task::{NewTask, OpenTask};
pub use performer::{DriverPaths, Names, Performer, StepContext, StepEnd};
pub use resources::Resources;
pub use task_dir::{Filed, Replayed, TaskDir, TaskView};
pub use tasks::{Claim, Tasks, pause_file};
