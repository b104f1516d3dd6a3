//! Runs review loops: performs what `belay-review` decides.
//!
//! # Theory of operation
//!
//! A task is a directory (`<state>/reviews/<id>`) with the filed task and a journal. The journal is the truth: replaying
//! it through [`belay_review::Task`] gives the task, in this process, in the next one, and in `belay review show`
//! without any. A record is applied to a copy first, appended and synced, and only then believed.
//!
//! [`Runner`] has one scheduler thread, which sleeps until something happens. It asks every unfinished task what is
//! next, and starts at most `review.workers` steps, each in a thread of its own. A step that has to wait (for a usage
//! limit, a directory, a paused session) holds no worker.
//!
//! An agent runs in a process of its own, `belay exec`, which writes its progress to a file of the task. So the agent
//! outlives a crash of the resident process: the next one finds the process by pid and start time, and takes its result
//! from the file. A step whose process is gone without a result is interrupted and runs again: in a worktree after its
//! files were restored, in the person's own directory with the edits named in the prompt.
//!
//! | module | contents |
//! |---|---|
//! | [`Runner`] | filing, deciding, landing; the scheduler |
//! | [`task_dir`] | the files of a task |
//! | [`import`] | finished tasks of another tool |
//! | [`project_templates`] | prompts that a project brings along |
//! | [`read`] | views of tasks from their files, for every reader |

#![cfg(unix)]

mod agent_run;
mod error;
mod filing;
mod host;
pub mod import;
mod instructions;
mod open_task;
mod perform;
mod progress;
pub mod project_templates;
mod prompts;
pub mod read;
mod runner;
mod scheduler;
pub mod task_dir;

pub use error::RunnerError;
pub use filing::FiledBy;
pub use host::Host;
pub use runner::{Runner, root};
