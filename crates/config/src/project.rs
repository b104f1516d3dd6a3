//! Finding a project's file, and reading it with care: it comes with a repository.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::diagnostic::Diagnostic;
use crate::layer::Source;
use crate::paths::{Paths, user_id};

/// Its name.
pub const PROJECT_FILE: &str = ".belay.toml";

/// No honest one is longer.
const MAX_PROJECT_FILE_BYTES: u64 = 64 * 1024;

/// A project's file as found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    /// Full path, links in its folders resolved.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

impl ProjectFile {
    /// The nearest one, from `from` upwards. Neither the home folder nor the root is a project.
    pub fn locate(places: &Paths, from: &Path) -> Option<PathBuf> {
        let from = std::fs::canonicalize(from).ok()?;
        let home = places.user_home().and_then(|home| std::fs::canonicalize(home).ok());
        from.ancestors()
            .take_while(|folder| Some(*folder) != home.as_deref() && folder.parent().is_some())
            .map(|folder| folder.join(PROJECT_FILE))
            .find(|path| path.symlink_metadata().is_ok())
    }

    /// Reads one. Links, devices, foreign, huge and non-UTF-8 files are refused.
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
        let found =
            path.symlink_metadata().map_err(|e| refuse(format!("cannot be read: {e}"), "check its permissions"))?;
        if !found.is_file() {
            return Err(refuse(
                "is no plain file".to_owned(),
                "put the settings into a plain file; links are not followed",
            ));
        }
        if is_foreign(&found) {
            return Err(refuse(
                "belongs to another user".to_owned(),
                "only your own project files count; change its owner",
            ));
        }
        let mut bytes = Vec::new();
        let opened = open(path).map_err(|e| refuse(format!("cannot be read: {e}"), "check its permissions"))?;
        let read = opened.take(MAX_PROJECT_FILE_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|e| refuse(format!("cannot be read: {e}"), "check its permissions"))?;
        if bytes.len() as u64 > MAX_PROJECT_FILE_BYTES {
            return Err(refuse(format!("is larger than {} KiB", MAX_PROJECT_FILE_BYTES / 1024), "shorten it"));
        }
        let text = String::from_utf8(bytes).map_err(|_| refuse("is not UTF-8".to_owned(), "save it as UTF-8"))?;
        Ok(Self { path: path.to_path_buf(), text })
    }
}

/// The check above and this may see different files; this never follows a link and never blocks on a pipe.
#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<std::fs::File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<std::fs::File> {
    std::fs::File::open(path)
}

#[cfg(unix)]
fn is_foreign(found: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let me = user_id();
    // Root works on everybody's behalf (containers); root's files are the system's own.
    me != 0 && found.uid() != me && found.uid() != 0
}

#[cfg(not(unix))]
fn is_foreign(_found: &std::fs::Metadata) -> bool {
    let _ = user_id;
    false
}
