//! Events about the work: files, checks, commits, tasks, notes.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::excerpt::Excerpt;

/// A file's content changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileChanged {
    /// Path as reported by the agent or watcher.
    pub path: String,
    /// Created, modified, deleted or moved.
    #[serde(default)]
    pub change: ChangeKind,
    /// Digest of the previous content, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// Digest of the new content; `None` for a deletion or if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest>,
    /// Lines added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u32>,
    /// Lines removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u32>,
    /// The tool call that made the change, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// Kind of a file change.
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
    /// Whether it passed; `None` while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ok: Option<bool>,
    /// The command, redacted.
    #[serde(default, skip_serializing_if = "Excerpt::is_empty")]
    pub command: Excerpt,
    /// Number of passed tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<u32>,
    /// Number of failed tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u32>,
    /// Names of the failures (at most 64 are read).
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub failing: BTreeSet<String>,
    /// Digest of the normalised failure text, so that a changed failure of the same test is noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Digest>,
    /// The tool call that ran it, if known. The event then only adds detail to the call's own outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
}

/// Kind of a check.
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
    /// Number of files, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u32>,
}

/// An event as a client of another tool's events API posted it, in that tool's words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClientReport {
    /// The client's name for the kind of event.
    pub kind: String,
    /// The client's description, redacted.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub summary: Excerpt,
    /// All files that the event is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Other fields, as a redacted excerpt of their JSON.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub metadata: Excerpt,
}

/// A named task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// Phase of the task.
    pub phase: TaskPhase,
    /// Description, redacted.
    #[serde(default, skip_serializing_if = "Excerpt::is_empty")]
    pub what: Excerpt,
}

/// Phase of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskPhase {
    Started,
    Progress,
    Completed,
}

/// A note in the session's record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Note {
    /// The text, redacted.
    pub text: Excerpt,
}
