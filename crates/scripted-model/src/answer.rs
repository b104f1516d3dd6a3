//! A response before encoding: text, tool calls, usage, and ids that depend only on the script.

use serde::Deserialize;
use serde_json::Value;

use crate::script::Text;

/// The token usage that a response reports.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    /// The part of `input` that was read from the provider's cache.
    pub cached: u64,
}

impl Usage {
    pub fn total(self) -> u64 {
        self.input + self.output
    }

    /// Usage grows with the turn, as the history does.
    pub(crate) fn of_turn(index: usize) -> Self {
        Self { input: 1_000 + 100 * index as u64, output: 50, cached: 0 }
    }
}

/// One call of a tool the request offered.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// Set where tools are grouped (Codex puts MCP and collaboration tools into namespaces).
    pub namespace: Option<String>,
    pub input: Input,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    Json(Value),
    /// A grammar-constrained text, not JSON (Codex's apply_patch).
    Freeform(String),
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) ids: Ids,
    pub(crate) model: String,
    pub(crate) text: Text,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) usage: Usage,
}

/// Ids for one response: a hash of script seed, conversation and turn, so that equal runs produce equal bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids(u64);

impl Ids {
    pub(crate) fn new(seed: u64, conversation: u64, turn: u64) -> Self {
        Self(mix(mix(mix(seed) ^ conversation) ^ turn))
    }

    /// The `index`-th id with this prefix, e.g. `call_5c1f...`: unique across prefixes, too.
    pub(crate) fn id(self, prefix: &str, index: usize) -> String {
        let salt = prefix.bytes().fold(self.0 ^ index as u64, |hash, byte| mix(hash ^ u64::from(byte)));
        format!("{prefix}{:016x}{:08x}", mix(salt), mix(salt ^ 1) >> 32)
    }
}

/// The finaliser of SplitMix64.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// The timestamp of every response (2026-01-01). A clock would make runs differ.
pub(crate) const CREATED: u64 = 1_767_225_600;

impl Text {
    /// The text in streaming deltas: a few characters, or one repeated word, at a time.
    pub(crate) fn into_pieces(self) -> Box<dyn Iterator<Item = String> + Send> {
        match self {
            Self::Whole(text) => Box::new(pieces(text)),
            Self::Chant { word, times } => Box::new((0..times).map(move |_| word.clone())),
        }
    }

    pub(crate) fn whole(&self) -> String {
        match self {
            Self::Whole(text) => text.clone(),
            Self::Chant { word, times } => word.repeat(usize::try_from(*times).unwrap_or(usize::MAX)),
        }
    }
}

/// Splits the text at character boundaries, about every 24 characters.
pub(crate) fn pieces(text: String) -> impl Iterator<Item = String> + Send {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = &text[from..];
        let end = rest.char_indices().nth(24).map_or(rest.len(), |(at, _)| at);
        from += end;
        (end > 0).then(|| rest[..end].to_owned())
    })
}
