//! Names of sessions: the file if files were named, otherwise the session's id.

use belay_core::SessionKey;

use crate::session_report::SessionReport;

/// The source of a session's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelStyle {
    /// The agent's own id.
    Ids,
    /// The file that contains it.
    Files,
}

impl LabelStyle {
    /// The name of a session.
    pub fn label(self, report: &SessionReport) -> String {
        let file = report.files.first().and_then(|file| file.file_name());
        match (self, file) {
            (Self::Files, Some(file)) if report.own_file => file.to_string_lossy().into_owned(),
            _ => report.key.id.to_string(),
        }
    }
}

/// A session's id, shortened for display.
pub(super) fn short(key: &SessionKey) -> String {
    let id = key.id.rsplit('/').next().unwrap_or(&key.id);
    let id = id.strip_suffix(".jsonl").unwrap_or(id);
    match id.get(..8) {
        Some(start) if id.len() == 36 && id.as_bytes()[8] == b'-' => start.to_owned(),
        _ => id.chars().take(40).collect(),
    }
}

/// The last component of a project's path.
pub(super) fn project(path: Option<&str>) -> &str {
    let path = path.unwrap_or("unknown project").trim_end_matches(['/', '\\']);
    path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or("/")
}
