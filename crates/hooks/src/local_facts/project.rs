//! The project, branch and process of a session.

use std::path::Path;

use belay_core::event::SessionStarted;
use belay_fs::repository::Repository;

use super::agent_process::ancestor_agent;

/// Adds the fields that the agent did not report.
pub(super) fn fill_session_start(start: &mut SessionStarted, cwd: Option<&str>, pid: Option<u32>) {
    if let Some(cwd) = cwd.map(Path::new) {
        let repository = Repository::find(cwd);
        if start.project.is_none() {
            start.project = project(cwd, repository.as_ref());
        }
        if start.branch.is_none() {
            start.branch = repository.and_then(|repository| repository.branch());
        }
    }
    if start.pid.is_none() {
        start.pid = pid.and_then(ancestor_agent);
    }
}

/// The repository that contains a directory, or the directory itself, as events name it.
pub fn project_root(cwd: &str) -> Option<String> {
    let cwd = Path::new(cwd);
    let mut project = project(cwd, Repository::find(cwd).as_ref())?;
    belay_core::event::redact_path(&mut project);
    Some(project)
}

/// The work trees of one repository are one project: they share budgets, tombstones and rules.
fn project(cwd: &Path, repository: Option<&Repository>) -> Option<String> {
    let root = repository.map_or(cwd, |repository| &repository.main);
    root.is_absolute().then(|| root.to_str().map(str::to_owned)).flatten()
}

/// The root of the repository that contains a directory, or the directory itself. A link to another repository is part
/// of the repository that contains the link.
pub(crate) fn work_tree_root(cwd: &Path) -> &Path {
    let has_git = |dir: &&Path| dir.join(".git").symlink_metadata().is_ok();
    let own = cwd.ancestors().find(|dir| has_git(dir) && !dir.is_symlink());
    own.or_else(|| cwd.ancestors().find(has_git)).unwrap_or(cwd)
}
