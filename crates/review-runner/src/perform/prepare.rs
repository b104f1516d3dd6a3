//! Makes the workspace.

use std::path::PathBuf;

use belay_core::task::WorkspaceMode;
use belay_drive::workspace::{Workspace, WorkspaceSpec};
use belay_review::task::StepOutcome;

use super::{ReviewStep as _, StepContext, StepEnd};
use crate::error::RunnerError;
use crate::instructions;

pub(super) fn perform(context: &StepContext) -> Result<StepEnd, RunnerError> {
    let spec = &context.task.spec;
    if spec.workspace != WorkspaceMode::InPlace {
        instructions::check_own_directories(context)?;
    }
    let workspace = Workspace::create(
        &WorkspaceSpec {
            id: context.dir.id().to_owned(),
            project_dir: PathBuf::from(&spec.project_dir),
            mode: spec.workspace,
            parent: context.paths.worktrees.clone(),
            copy: context.config.drive.copy.clone(),
            setup: context.config.drive.setup.clone(),
            setup_timeout: Some(context.timeout()),
            env: context.environment()?.variables(),
            marker: Some(context.marker()),
        },
        &context.cancel,
    )?;
    instructions::record(context, &workspace)?;
    context.dir.write_json("workspace.json", &workspace)?;
    Ok(StepEnd::new(StepOutcome::Prepared))
}
