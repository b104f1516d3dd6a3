//! Copies of ignored files, such as `.env`, into a new worktree.

use std::io;
use std::path::{Component, Path};

use belay_fs::{Dir, FileMode};

use super::error::WorkspaceError;

const MAX_COPIED_BYTES: u64 = 64 * 1024 * 1024;

/// Copies a file from the person's directory to the same place in the worktree, readable by the owner only. A file that
/// does not exist is skipped. Neither side follows a link of the project.
pub(super) fn copy(from: &Path, to: &Path, path: &str) -> Result<(), WorkspaceError> {
    let failed = |error: io::Error| WorkspaceError::Copy { path: path.to_owned(), why: error.to_string() };
    let relative = Path::new(path);
    let leaves = || io::Error::new(io::ErrorKind::InvalidInput, "the path leads out of the project");
    let is_inside = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let (Some(name), true) = (relative.file_name().and_then(|name| name.to_str()), is_inside) else {
        return Err(failed(leaves()));
    };
    let parent = relative.parent().unwrap_or(Path::new(""));
    let bytes = match Dir::open_below(from, parent).and_then(|dir| dir.read_regular(name, MAX_COPIED_BYTES)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read.map_err(failed)?,
    };
    let target = create_below(to, parent).map_err(failed)?;
    target.replace_file(name.as_ref(), &bytes, FileMode::Private).map_err(failed)
}

/// Opens a directory below another, and creates what is missing.
fn create_below(root: &Path, relative: &Path) -> io::Result<Dir> {
    let mut below = std::path::PathBuf::new();
    for component in relative.components() {
        below.push(component);
        match std::fs::create_dir(root.join(&below)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            // Before anything is created below it: a link must not lead the next directory elsewhere.
            _ => drop(Dir::open_below(root, &below)?),
        }
    }
    Dir::open_below(root, relative)
}
