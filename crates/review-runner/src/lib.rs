//! Runs review loops: performs what `belay-review` decides.
//!
//! # Theory of operation
//!
//! What makes a task durable and runs its steps is [`belay_tasks`]. This crate has what is special about reviews: how a
//! task is filed, how each step is performed, what is shown, and how a result lands.
//!
//! A build that died runs again: in a worktree after its files were restored, in the person's own directory with the edits
//! named in the prompt.
//!
//! | module | contents |
//! |---|---|
//! | [`Runner`] | filing, deciding, landing |
//! | `perform` | the steps |
//! | [`task_dir`] | the artifacts of a task |
//! | [`import`] | finished tasks of another tool |
//! | [`project_templates`] | prompts that a project brings along |
//! | [`read`] | views of tasks from their files, for every reader |

#![cfg(unix)]

mod error;
mod filing;
pub mod import;
mod instructions;
mod perform;
pub mod project_templates;
mod prompts;
pub mod read;
mod reviews;
mod runner;
pub mod task_dir;

pub use error::RunnerError;
pub use filing::FiledBy;
pub use runner::{Runner, root};
