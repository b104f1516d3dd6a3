//! What becomes of the work: files, checks, commits, tasks, notes.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::excerpt::Excerpt;

/// A file's content changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileChanged {
    /// Path as the agent or watcher names it.
    pub path: String,
    /// Created, modified, deleted or moved.
    #[serde(default)]
    pub change: ChangeKind,
    /// Digest of the content before, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// Digest of the content after; `None` for a deletion or when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest>,
    /// Lines added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u32>,
    /// Lines removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u32>,
    /// Tool call that did it, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Created,
    #[default]
    Modified,
    Deleted,
    Moved,
}

/// A test, build or lint run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRan {
    /// Test, build or lint.
    pub check: CheckKind,
    /// `None` while it runs; then whether it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The command, redacted.
    #[serde(default, skip_serializing_if = "Excerpt::is_empty")]
    pub command: Excerpt,
    /// How many passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<u32>,
    /// How many failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u32>,
    /// Names of what failed (bounded by the reader to 64).
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub failing: BTreeSet<String>,
    /// Digest of the normalised failure text, so that a changed failure of the same test shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Digest>,
    /// Tool call that ran it, when known: then the call's own outcome says the same and this adds detail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// What was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    Test,
    Build,
    Lint,
}

/// A commit was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Committed {
    /// Commit id.
    pub sha: String,
    /// Files in it, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
}

/// A named task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Began, moved or completed.
    pub phase: TaskPhase,
    /// What it is, redacted.
    #[serde(default, skip_serializing_if = "Excerpt::is_empty")]
    pub what: Excerpt,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskPhase {
    Started,
    Progress,
    Completed,
}

/// Something worth keeping.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Note {
    /// The text, redacted.
    pub text: Excerpt,
}
