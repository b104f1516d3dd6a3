//! The project, branch and process of a session.

use std::path::{Path, PathBuf};

use belay_core::event::SessionStarted;

use super::process;

/// Adds the fields that the agent did not report.
pub(super) fn fill_session_start(start: &mut SessionStarted, cwd: Option<&str>, pid: Option<u32>) {
    if let Some(cwd) = cwd.map(Path::new) {
        let git = git_folder(cwd);
        if start.project.is_none() {
            start.project = project(cwd, git.as_ref());
        }
        if start.branch.is_none() {
            start.branch = git.and_then(|(_, git)| branch(&git));
        }
    }
    if start.pid.is_none() {
        start.pid = pid.and_then(process::ancestor_agent);
    }
}

/// The repository that contains a folder, or the folder itself, as events name it.
pub fn project_root(cwd: &str) -> Option<String> {
    let cwd = Path::new(cwd);
    let mut project = project(cwd, git_folder(cwd).as_ref())?;
    belay_core::event::redact_path(&mut project);
    Some(project)
}

fn project(cwd: &Path, git: Option<&(PathBuf, PathBuf)>) -> Option<String> {
    let root = git.map_or(cwd, |(root, _)| root);
    root.is_absolute().then(|| root.to_str().map(str::to_owned)).flatten()
}

/// The root of the work tree and its git directory.
fn git_folder(cwd: &Path) -> Option<(PathBuf, PathBuf)> {
    cwd.ancestors().find_map(|root| {
        let git = root.join(".git");
        let found = std::fs::metadata(&git).ok()?;
        if found.is_dir() {
            return Some((root.to_owned(), git));
        }
        // A linked work tree: `gitdir: <path>`.
        let text = small_text(&git)?;
        let folder = text.strip_prefix("gitdir: ")?.trim();
        Some((root.to_owned(), root.join(folder)))
    })
}

/// The root of the repository that contains a directory, or the directory itself. A link to another repository is part
/// of the repository that contains the link.
pub(crate) fn work_tree_root(cwd: &Path) -> &Path {
    let has_git = |folder: &&Path| folder.join(".git").symlink_metadata().is_ok();
    let own = cwd.ancestors().find(|folder| has_git(folder) && !folder.is_symlink());
    own.or_else(|| cwd.ancestors().find(has_git)).unwrap_or(cwd)
}

/// A `gitdir:` may lead anywhere, as git allows: only a short regular file is read, and only the name of a branch used.
fn branch(git: &Path) -> Option<String> {
    let head = small_text(&git.join("HEAD"))?;
    head.strip_prefix("ref: refs/heads/").map(|branch| branch.trim().to_owned())
}

fn small_text(path: &Path) -> Option<String> {
    belay_fs::read_regular_text(path, belay_fs::Links::Refuse, 4096).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a non-blocking open, this test hangs.
    #[test]
    fn a_fifo_in_place_of_git_files_does_not_block() {
        let folder = tempfile::tempdir().expect("a folder");
        let make_fifo = |path: &Path| {
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a FIFO");
        };
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        std::fs::create_dir_all(&first).expect("a folder");
        make_fifo(&first.join(".git"));
        assert_eq!(git_folder(&first).map(|(root, _)| root), None);
        std::fs::create_dir_all(second.join(".git")).expect("a folder");
        make_fifo(&second.join(".git/HEAD"));
        assert_eq!(branch(&second.join(".git")), None);
    }
}
