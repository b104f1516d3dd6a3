//! Fingerprints of tool calls, without volatile parts.
//!
//! An [`Action`] is the condensed form of an input. Its digests show whether two calls request the same thing
//! ([`Action::key`]), the same apart from numbers and indentation ([`Action::skeleton`]), or something else on
//! the same target ([`Action::shape`]). Its flags are what detectors need before the result: whether the call
//! changes files, only reads, waits, or runs checks.

mod classify;
mod command;
mod edit_input;
mod input;
mod input_fields;
mod line_range;
mod programs;
mod shell;
mod tool_names;

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;
use crate::event::CheckKind;
use crate::outcome::head_and_tail;
use crate::simhash;
use input::ToolInput;

pub use classify::classify;
pub use line_range::LineRange;

/// A tool: the agent's name and Belay's kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Belay's classification.
    pub kind: ToolKind,
    /// The agent's name for it.
    pub name: String,
}

/// Kind of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Runs a command.
    Shell,
    /// Reads a file or directory.
    Read,
    /// Changes part of a file.
    Edit,
    /// Writes a whole file.
    Write,
    /// Searches files or the web.
    Search,
    /// Fetches a page or resource.
    Fetch,
    /// Starts or messages another agent.
    SubAgent,
    /// A tool of an MCP server.
    Mcp,
    /// Records a plan or a thought; its result is an acknowledgement.
    Plan,
    /// Checks on something that runs, or waits for it.
    Poll,
    /// Claims that the work is done.
    Finish,
    /// Asks a person.
    Ask,
    #[default]
    Other,
}

impl ToolKind {
    /// Whether a call may ask something: a search, a question to another program, a probe by a command.
    pub(crate) fn may_ask(self) -> bool {
        matches!(self, Self::Search | Self::Fetch | Self::Mcp | Self::Other | Self::SubAgent | Self::Shell)
    }
}

/// Fingerprints and properties of one tool call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Action {
    /// Equal if the same thing is requested, apart from volatile parts. Compare with [`Action::same_as`],
    /// which also compares `place`.
    pub key: Digest,
    /// Coarser than `key`: the path of an edit or read, program and subcommand of a command.
    pub shape: Digest,
    /// `key` without digits, indentation and blank runs: equal for calls that differ in numbers only.
    pub skeleton: Digest,
    /// Simhash of the salient words; compare with [`Action::similarity`].
    pub sketch: Digest,
    /// The file or directory in question, if there is exactly one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Digest>,
    /// The directory a command changes into first. Separate from `key`, because a shell may already be there:
    /// a missing place matches any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Digest>,
    /// For a read: what it reads, including the range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look: Option<Digest>,
    /// For a read of one file: which lines of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineRange>,
    /// For an edit: the removed and the inserted text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunk: Option<EditSides>,
    /// Runs tests, a build or a linter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckKind>,
    /// Changes files or other persistent state.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mutates: bool,
    /// Waits, or checks on something that runs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub poll: bool,
    /// Makes a commit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub commits: bool,
    /// Names a file of environment variables, so its result may show one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub env_file: bool,
    /// A command that writes one known file, its `target`: a redirection, a here-document, `sed -i`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub writes_file: bool,
    /// May take earlier edits away: `git checkout`, `git stash`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub restores: bool,
    /// A question that a non-zero exit answers: `grep`, `diff`, `test`, `ls`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub probe: bool,
    /// Does nothing by design: `:`, `true`, a read of `/dev/null`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_op: bool,
    /// Starts something that goes on after the call returns: a background command or agent, a job.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub starts: bool,
    /// A command that starts its `target` anew: `>` and not `>>`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overwrites: bool,
}

/// The two sides of an edit. An edit and its inverse have them swapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditSides {
    /// Removed text: empty for an insertion, unknown for a whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// Inserted text: empty for a deletion, the whole content for a write.
    pub after: Digest,
}

impl EditSides {
    /// Whether one edit reverts the other.
    pub fn is_inverse_of(&self, other: &Self) -> bool {
        !self.is_empty() && self.before == Some(other.after) && other.before == Some(self.after)
    }

    /// Whether the edit changes nothing.
    pub fn is_empty(&self) -> bool {
        self.before == Some(self.after)
    }
}

impl Action {
    /// Fingerprints of an input, and its salient part as text.
    ///
    /// `input` may be JSON, a string that contains JSON, or plain text (the command, query or code itself).
    pub fn from_tool_call(kind: ToolKind, name: &str, input: &Value) -> (Self, String) {
        let input = ToolInput::read(input);
        let (mut action, salient) = match kind {
            ToolKind::Shell => command::read_action(name, &input),
            ToolKind::Edit | ToolKind::Write => edit_input::read_action(kind, name, &input),
            _ => input_fields::read_action(kind, name, &input),
        };
        action.starts = input.is_set(classify::BACKGROUND_FIELDS);
        (action, salient)
    }

    /// Equal keys and no contradicting directory.
    pub fn same_as(&self, other: &Self) -> bool {
        self.key == other.key
            && match (self.place, other.place) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            }
    }

    /// Similarity of the salient words: 1 for equal, about 0 for unrelated.
    pub fn similarity(&self, other: &Self) -> f32 {
        simhash::similarity(self.sketch, other.sketch)
    }
}

/// Only the ends of longer texts are used for simhash and skeleton; keys cover the whole text.
const MAX_SKETCHED_BYTES: usize = 2048;
const MAX_SKELETON_BYTES: usize = 16 * 1024;

fn sketch_of(text: &str) -> Digest {
    simhash::simhash(&head_and_tail(text, MAX_SKETCHED_BYTES))
}

fn skeleton_of(text: &str) -> String {
    input::skeleton(&head_and_tail(text, MAX_SKELETON_BYTES))
}

/// Builds fingerprints; `kind` and `name` separate tools.
struct FingerprintBuilder<'a> {
    kind: ToolKind,
    /// Empty for kinds whose tools are interchangeable (shell, read, edit, ...).
    name: &'a str,
}

impl<'a> FingerprintBuilder<'a> {
    fn new(kind: ToolKind, name: &'a str) -> Self {
        let name = match kind {
            ToolKind::Shell | ToolKind::Read | ToolKind::Edit | ToolKind::Write => "",
            _ => name,
        };
        Self { kind, name }
    }

    fn digest(&self, role: &str, parts: &[&str]) -> Digest {
        let kind = [self.kind as u8];
        let head = [&kind[..], self.name.as_bytes(), role.as_bytes()];
        Digest::of_parts(head.into_iter().chain(parts.iter().map(|part| part.as_bytes())))
    }
}
