//! Finds and reads a project's `.belay.toml`. The file comes with a repository and is not trusted.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use belay_fs::Links;

use crate::diagnostic::Diagnostic;
use crate::layer::Source;
use crate::paths::{Paths, user_id};

pub const PROJECT_FILE: &str = ".belay.toml";
/// The directory with a project's own prompts.
pub const PROJECT_PROMPTS: &str = ".belay/prompts";

pub(crate) const MAX_PROJECT_FILE_BYTES: u64 = 64 * 1024;

/// A project file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    /// Absolute path with its directory resolved.
    pub path: PathBuf,
    pub text: String,
}

impl ProjectFile {
    /// The nearest `.belay.toml` from `from` upwards.
    pub fn locate(paths: &Paths, from: &Path) -> Option<PathBuf> {
        Self::locate_named(paths, from, PROJECT_FILE)
    }

    /// The nearest directory with prompts from `from` upwards.
    pub fn locate_prompts(paths: &Paths, from: &Path) -> Option<PathBuf> {
        Self::locate_named(paths, from, PROJECT_PROMPTS)?.canonicalize().ok()
    }

    /// The home directory and the root are not projects.
    fn locate_named(paths: &Paths, from: &Path, name: &str) -> Option<PathBuf> {
        let from = std::fs::canonicalize(from).ok()?;
        let home = paths.user_home().and_then(|home| std::fs::canonicalize(home).ok());
        from.ancestors()
            .take_while(|dir| Some(*dir) != home.as_deref() && dir.parent().is_some())
            .map(|dir| dir.join(name))
            .find(|path| path.symlink_metadata().is_ok())
    }

    /// Reads the file. Symlinks, special files, files of other users, large files and invalid UTF-8 are refused.
    pub fn read(path: &Path) -> Result<Self, Box<Diagnostic>> {
        let refuse = |what: String, hint: &str| {
            Box::new(Diagnostic {
                source: Source::Project { path: path.to_path_buf(), trusted: false },
                position: None,
                key: None,
                what,
                hint: Some(hint.to_owned()),
            })
        };
        let unreadable = |error: &std::io::Error| refuse(format!("cannot be read: {error}"), "check its permissions");
        let file = belay_fs::open_regular(path, Links::Refuse).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => {
                refuse("is not a regular file".to_owned(), "use a regular file; symlinks are not followed")
            }
            _ => unreadable(&error),
        })?;
        if is_foreign(&file.metadata().map_err(|error| unreadable(&error))?) {
            return Err(refuse(
                "belongs to another user".to_owned(),
                "change its owner; only your own project files apply",
            ));
        }
        let mut bytes = Vec::new();
        file.take(MAX_PROJECT_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
        if bytes.len() as u64 > MAX_PROJECT_FILE_BYTES {
            return Err(refuse(format!("is larger than {} KiB", MAX_PROJECT_FILE_BYTES / 1024), "shorten it"));
        }
        let text = String::from_utf8(bytes).map_err(|_| refuse("is not UTF-8".to_owned(), "save it as UTF-8"))?;
        Ok(Self { path: path.to_path_buf(), text })
    }
}

#[cfg(unix)]
fn is_foreign(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let me = user_id();
    // In containers root works on files of any user; files of root are the system's own.
    me != 0 && found.uid() != me && found.uid() != 0
}

#[cfg(not(unix))]
fn is_foreign(_found: &std::fs::Metadata) -> bool {
    let _ = user_id;
    false
}
