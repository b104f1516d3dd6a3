//! Which project, branch and process a session belongs to.

use std::path::{Path, PathBuf};

use belay_core::event::SessionStarted;

use super::process;

/// Fills in what the agent left out.
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

/// The repository a folder belongs to, else the folder itself.
pub fn project_root(cwd: &str) -> Option<String> {
    let cwd = Path::new(cwd);
    project(cwd, git_folder(cwd).as_ref())
}

fn project(cwd: &Path, git: Option<&(PathBuf, PathBuf)>) -> Option<String> {
    let root = git.map_or(cwd, |(root, _)| root);
    root.is_absolute().then(|| root.to_str().map(str::to_owned)).flatten()
}

/// The root of the work tree and its git folder.
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

fn branch(git: &Path) -> Option<String> {
    let head = small_text(&git.join("HEAD"))?;
    head.strip_prefix("ref: refs/heads/").map(|branch| branch.trim().to_owned())
}

fn small_text(path: &Path) -> Option<String> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::open(path).ok()?.take(4096).read_to_string(&mut text).ok()?;
    Some(text)
}
