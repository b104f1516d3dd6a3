//! Review loops with real processes: the resident process, git, and agents that are small programs.

mod alerts;
mod artifacts;
mod cancel;
mod crash;
mod decisions;
mod endings;
mod environment;
mod instructions;
mod landing;
mod lifetime;
mod overview;
mod project;
mod queue;
mod spending;
mod templates;
mod verdicts;
mod workspaces;
