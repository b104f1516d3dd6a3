//! Finished audits in the state directory: a summary and a report each, readable by their owner only.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use belay_config::Paths;
use belay_fs::{FileMode, Links};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{AuditView, TriedSettingView};

/// Maximum number of audits that are kept.
const MAX_AUDITS: usize = 20;
/// Maximum size of a file that is read back.
const MAX_FILE_BYTES: u64 = 8 << 20;
/// Name of the file with the setting that was tried last.
const TRIED: &str = "tried.json";

/// The directory of finished audits.
#[derive(Debug)]
pub(super) struct AuditArchive {
    dir: PathBuf,
}

impl AuditArchive {
    pub(super) fn new(paths: &Paths) -> Self {
        Self { dir: paths.state().join("audits") }
    }

    /// The audits, newest first.
    pub(super) fn list(&self) -> Vec<AuditView> {
        self.ids().iter().filter_map(|id| self.find(id)).collect()
    }

    pub(super) fn find(&self, id: &str) -> Option<AuditView> {
        read(&self.file(id, "json")?)
    }

    pub(super) fn report(&self, id: &str) -> Option<String> {
        belay_fs::read_regular_text(&self.file(id, "html")?, Links::Refuse, MAX_FILE_BYTES).ok()
    }

    pub(super) fn tried(&self) -> Option<TriedSettingView> {
        read(&self.dir.join(TRIED))
    }

    /// Stores an audit and deletes the oldest ones.
    pub(super) fn put(&self, audit: &AuditView, report: Option<&str>) -> io::Result<()> {
        let invalid = || io::Error::other("invalid id");
        self.create()?;
        if let Some(report) = report {
            let path = self.file(&audit.id, "html").ok_or_else(invalid)?;
            belay_fs::atomic_write(&path, report.as_bytes(), FileMode::Private)?;
        }
        write(&self.file(&audit.id, "json").ok_or_else(invalid)?, audit)?;
        for old in self.ids().iter().skip(MAX_AUDITS) {
            for kind in ["json", "html"] {
                if let Some(path) = self.file(old, kind) {
                    // A failed audit has no report.
                    let _ = fs::remove_file(path);
                }
            }
        }
        Ok(())
    }

    pub(super) fn put_tried(&self, tried: &TriedSettingView) -> io::Result<()> {
        self.create()?;
        write(&self.dir.join(TRIED), tried)
    }

    fn create(&self) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)
    }

    /// The ids of all audits, newest first: UUIDs of version 7 sort by time.
    fn ids(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(&self.dir) else { return Vec::new() };
        let name = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_suffix(".json").map(str::to_owned);
        let mut ids: Vec<String> = entries.flatten().filter_map(name).filter(|id| is_id(id)).collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids
    }

    /// The path of a file; `None` if the id is not one of ours, which could name any path.
    fn file(&self, id: &str, kind: &str) -> Option<PathBuf> {
        is_id(id).then(|| self.dir.join(format!("{id}.{kind}")))
    }
}

fn is_id(text: &str) -> bool {
    uuid::Uuid::try_parse(text).is_ok_and(|id| id.to_string() == text)
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    let text = belay_fs::read_regular_text(path, Links::Refuse, MAX_FILE_BYTES).ok()?;
    serde_json::from_str(&text).ok()
}

fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    belay_fs::atomic_write(path, &serde_json::to_vec(value)?, FileMode::Private)
}

#[cfg(test)]
mod tests {
    use belay_config::EnvSnapshot;

    use super::*;

    #[test]
    fn the_last_audits_are_kept_and_ids_name_no_other_file() {
        let home = tempfile::tempdir().unwrap();
        let archive = AuditArchive::new(&Paths::resolve(&EnvSnapshot::default(), Some(home.path())).unwrap());
        let ids: Vec<String> = (0..25).map(|_| uuid::Uuid::now_v7().to_string()).collect();
        for id in &ids {
            let audit = AuditView { id: id.clone(), ..AuditView::default() };
            archive.put(&audit, Some("<p>report</p>")).unwrap();
        }
        let kept: Vec<String> = archive.list().into_iter().map(|audit| audit.id).collect();
        assert_eq!(kept, ids.iter().rev().take(MAX_AUDITS).cloned().collect::<Vec<_>>());
        assert_eq!(archive.report(&ids[24]).as_deref(), Some("<p>report</p>"));
        assert_eq!((archive.report(&ids[0]), archive.find(&ids[0])), (None, None));
        fs::write(home.path().join("secret.html"), "secret").unwrap();
        assert_eq!(archive.report("../secret"), None);
    }
}
