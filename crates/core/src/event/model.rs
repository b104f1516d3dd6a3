//! Requests to the model, its answers, usage, failures and limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::excerpt::Excerpt;
use crate::time::Timestamp;

/// A model request left the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelAsked {
    /// Request id, when the agent sends one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Model asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Title, token counting and the like: not a turn.
    pub auxiliary: bool,
    /// Sketch of what is new in this request, for sensors that see no tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail: Option<TextFingerprint>,
    /// Size of the request body in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Digest of the credential it was sent with: budgets per account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<Digest>,
    /// A changed plan the agent names (asked for by a conditional resume).
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub plan: Excerpt,
}

/// A model answered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelAnswered {
    /// Response id; usage repeated under one id counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// Request it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Why it stopped, as the API says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// Cost in millionths of a US dollar, when the sensor knows it; else priced from the table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// How many tool calls it asked for; `None` when unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u32>,
    /// Sketch of the text it said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<TextFingerprint>,
    /// Redacted beginning and end of the text it said.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub text: Excerpt,
    /// The text degenerated into repetition (found while streaming or afterwards).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub chanting: bool,
    /// Title, token counting and the like: not a turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub auxiliary: bool,
}

/// Tokens of one model answer. Input does not include what was read from or written to the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Fresh input tokens.
    pub input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Input tokens read from the prompt cache.
    pub cache_read: u64,
    /// Input tokens written to the prompt cache.
    pub cache_write: u64,
}

impl Usage {
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output).saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// What the model had before it: the fill of its window.
    pub fn context(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// What was used since `earlier`.
    pub fn saturating_sub(&self, earlier: &Self) -> Self {
        Self {
            input: self.input.saturating_sub(earlier.input),
            output: self.output.saturating_sub(earlier.output),
            cache_read: self.cache_read.saturating_sub(earlier.cache_read),
            cache_write: self.cache_write.saturating_sub(earlier.cache_write),
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// Enough of a text to compare it with another: a digest of its normalised form and a simhash of
/// its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextFingerprint {
    /// Equal for texts that differ only in volatile parts.
    pub digest: Digest,
    /// Close (by Hamming distance) for similar texts.
    pub simhash: Digest,
    /// Length of the text in bytes.
    pub len: u32,
}

/// A model call failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelFailed {
    /// HTTP status, when there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Redacted message.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub message: Excerpt,
    /// When the provider said to come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
}

/// A usage limit was hit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UsageLimitHit {
    /// Which limit, in the provider's words.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub what: Excerpt,
    /// When it resets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
}
