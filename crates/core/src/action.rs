//! What a tool call does: fingerprints free of volatile parts.
//!
//! An [`Action`] is what is left of an input once it has been condensed: digests that tell whether two
//! calls ask for the same thing ([`Action::key`]), for the same thing but for numbers and indentation
//! ([`Action::skeleton`]), or for something else of the same target ([`Action::shape`]); and the few
//! facts a detector must know about a call before its answer comes: does it change files, does it
//! merely look, does it wait, does it run the tests.

mod classify;
mod command;
mod edit_input;
mod input;
mod input_fields;
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
use crate::outcome::one_line;
use crate::simhash;
use input::ToolInput;

pub use classify::classify;

/// A tool as the agent names it, and what kind of thing it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// What it does, in our words.
    pub kind: ToolKind,
    /// The agent's own name for it.
    pub name: String,
}

/// What a tool does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Runs a command.
    Shell,
    /// Looks at a file or folder.
    Read,
    /// Changes part of a file.
    Edit,
    /// Writes a whole file.
    Write,
    /// Searches files or the web.
    Search,
    /// Fetches a page or resource.
    Fetch,
    /// Starts or talks to another agent.
    SubAgent,
    /// A tool of an MCP server.
    Mcp,
    /// Keeps a plan or a thought; its answer is an acknowledgement.
    Plan,
    /// Asks how something that runs is doing, or waits for it.
    Poll,
    /// Claims that the work is done.
    Finish,
    /// Asks a person.
    Ask,
    #[default]
    Other,
}

/// Fingerprints of one tool call and what it is about to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Action {
    /// Equal when the same thing is asked for again, volatile parts aside. Compare with
    /// [`Action::same_as`], which also minds `place`.
    pub key: Digest,
    /// Equal when the same is asked of the same target with other words (coarser than `key`): the path
    /// of an edit or read, program and subcommand of a command.
    pub shape: Digest,
    /// `key` without digits, indentation and blank runs: equal for calls that differ in numbers only.
    pub skeleton: Digest,
    /// Simhash of the salient words; compare with [`Action::similarity`].
    pub sketch: Digest,
    /// The file or folder it is about, when there is exactly one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Digest>,
    /// The folder a command first changes into. Kept apart from `key`, because a shell may already
    /// be there: a missing place fits any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Digest>,
    /// For a call that only looks: what it looks at, range and all. Equal for the same view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub look: Option<Digest>,
    /// For an edit: the text taken out and the text put in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunk: Option<EditSides>,
    /// It runs tests, a build or a linter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckKind>,
    /// It changes files or other lasting state.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mutates: bool,
    /// It waits or asks how something that runs is doing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub poll: bool,
    /// It makes a commit.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub commits: bool,
}

/// The two sides of an edit. An edit and its inverse have them swapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditSides {
    /// The text taken out (that of an insertion is the empty text; unknown for a whole file).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// The text put in (empty for a deletion; the whole content for a write).
    pub after: Digest,
}

impl EditSides {
    /// Whether one undoes the other.
    pub fn is_inverse_of(&self, other: &Self) -> bool {
        !self.is_empty() && self.before == Some(other.after) && other.before == Some(self.after)
    }

    /// Whether it leaves the text as it was.
    pub fn is_empty(&self) -> bool {
        self.before == Some(self.after)
    }
}

impl Action {
    /// Fingerprints of an input, and its salient part as text.
    ///
    /// `input` may be JSON, a text that holds JSON, or plain text (then it is the command, query or
    /// code itself).
    pub fn of(kind: ToolKind, name: &str, input: &Value) -> (Self, String) {
        let input = ToolInput::read(input);
        match kind {
            ToolKind::Shell => command::of(name, &input),
            ToolKind::Edit | ToolKind::Write => edit_input::of(kind, name, &input),
            _ => input_fields::of(kind, name, &input),
        }
    }

    /// The same thing is asked for again: equal keys, and no contradiction about the folder.
    pub fn same_as(&self, other: &Self) -> bool {
        self.key == other.key
            && match (self.place, other.place) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            }
    }

    /// How alike the salient words are: 1 for equal, about 0 for unrelated.
    pub fn similarity(&self, other: &Self) -> f32 {
        simhash::similarity(self.sketch, other.sketch)
    }
}

/// Of longer texts only the ends are sketched and reduced to skeletons; keys are of the whole.
const MAX_SKETCHED_BYTES: usize = 2048;
const MAX_SKELETON_BYTES: usize = 16 * 1024;

fn sketch_of(text: &str) -> Digest {
    simhash::simhash(&one_line(text, MAX_SKETCHED_BYTES))
}

fn skeleton_of(text: &str) -> String {
    input::skeleton(&one_line(text, MAX_SKELETON_BYTES))
}

/// Joins what makes a fingerprint; `kind` and `name` keep tools apart.
struct FingerprintBuilder<'a> {
    kind: ToolKind,
    /// For kinds whose tools are interchangeable (shell, read, edit, ...) the name says nothing.
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
