//! A directory with labelled sessions: the archive, unpacked, and its labels.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::USAGE;
use crate::shell;

/// An unpacked archive and its labels.
pub(super) struct Corpus {
    /// Where variants and alarms are written.
    pub work: PathBuf,
    /// The directory with the session files.
    pub sessions: PathBuf,
    /// The labels of these sessions.
    pub labels: PathBuf,
}

impl Corpus {
    /// Finds `X<archive>` in a directory and the labels `X<labels>` that belong to it, and unpacks the archive below
    /// `target/score`. A directory may have several pairs, so the labels follow from the archive.
    pub(super) fn open(dir: &Path, archive: &str, labels: &str) -> Result<Self, String> {
        let packed = find(dir, archive)?;
        let name = file_name(&packed).trim_end_matches(archive).to_owned();
        let labels = dir.join(format!("{name}{labels}"));
        if !labels.is_file() {
            return Err(format!("{} has no {}; {USAGE}", dir.display(), file_name(&labels)));
        }
        let work = shell::root().join("target").join("score");
        fs::create_dir_all(&work).map_err(|e| format!("cannot create {}: {e}", work.display()))?;
        // `dev-histories.tar.xz` holds `dev-histories/`, `dev-sessions.tar.gz` holds `dev/`.
        let inner = if archive.starts_with("-histories") { format!("{name}-histories") } else { name };
        let sessions = work.join(&inner);
        if !sessions.is_dir() {
            let ok = shell::run(Command::new("tar").arg("-xf").arg(&packed).arg("-C").arg(&work))?;
            if !ok || !sessions.is_dir() {
                return Err(format!("cannot unpack {} into a directory {inner}/", packed.display()));
            }
        }
        Ok(Self { work, sessions, labels })
    }
}

/// The file of a directory with this ending.
fn find(dir: &Path, ending: &str) -> Result<PathBuf, String> {
    let entries = fs::read_dir(dir).map_err(|e| format!("cannot read {}: {e}", dir.display()))?;
    let mut matching: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| file_name(path).ends_with(ending)).collect();
    matching.sort();
    matching.into_iter().next().ok_or_else(|| format!("{} has no *{ending}; {USAGE}", dir.display()))
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
