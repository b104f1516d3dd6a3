//! Everything that the page of a session shows.

use belay_core::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::calls::PictureView;
use super::{FindingView, IncidentView, NoteView, SessionView};

/// The page of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionPageView {
    pub now: Timestamp,
    pub session: SessionView,
    /// The open incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<IncidentView>,
    /// Findings, newest first.
    pub findings: Vec<FindingView>,
    /// Decisions of people, newest first; their notes may be empty.
    pub notes: Vec<NoteView>,
    pub picture: PictureView,
    /// Files that the window's calls read or wrote, most writes first.
    pub files: Vec<FileView>,
    /// Runs of tests in the window, and which of them failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<FailingView>,
    /// The session and its sub-agents, depth first.
    pub tree: Vec<TreeNodeView>,
    pub events: Vec<EventLineView>,
    /// The sequence number to continue from with older events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older: Option<u64>,
    /// Who reports: "hooks", "proxy", "transcript".
    pub sensors: Vec<String>,
    /// The sessions before and after it in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A file that calls read or wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileView {
    pub path: String,
    pub reads: u64,
    pub writes: u64,
    /// Number of different contents that writes left.
    pub contents: u64,
    /// The contents alternate.
    pub alternates: bool,
}

/// Which tests failed in which run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailingView {
    /// Numbers of the calls that ran tests, oldest first.
    pub runs: Vec<u64>,
    pub tests: Vec<FailingTestView>,
    /// The run from which the failing set stays the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_from: Option<u64>,
}

/// One test, and whether it failed in each run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailingTestView {
    pub name: String,
    pub failed: Vec<bool>,
}

/// A session in the tree of sub-agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TreeNodeView {
    pub depth: u32,
    pub session: SessionView,
}

/// One event, as a line of the events table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventLineView {
    pub seq: u64,
    pub at: Timestamp,
    pub kind: String,
    pub source: String,
    /// Number of the call it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
    /// Pair of that call; colours its row in the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<String>,
    /// What happened, in one line.
    pub what: String,
    /// What came of it.
    pub outcome: String,
    pub tokens: u64,
}
