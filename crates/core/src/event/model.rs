//! Model requests, responses, usage, failures and limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::excerpt::Excerpt;
use crate::time::Timestamp;

/// The agent sent a model request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelAsked {
    /// Request id, if the agent sends one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Requested model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A request for a title, a token count or similar; not a turn.
    pub auxiliary: bool,
    /// Fingerprint of the new part of this request, for sensors that do not see tool calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tail: Option<TextFingerprint>,
    /// Size of the request body in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Digest of the credential, for budgets per account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<Digest>,
    /// A changed plan named by the agent, as a conditional resume requires.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub plan: Excerpt,
    /// The user who sent the request is unknown, so it may be another user's.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unverified: bool,
}

/// The model responded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelAnswered {
    /// Response id; usage repeated under one id counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// The request's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The responding model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Stop reason as reported by the API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// Cost in millionths of a US dollar, if the sensor knows it; otherwise computed from the price table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// Number of tool calls in the response; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u32>,
    /// Fingerprint of the response text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<TextFingerprint>,
    /// Redacted head and tail of the response text.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub text: Excerpt,
    /// The text degenerated into repetition, detected during or after streaming.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub degenerate: bool,
    /// A response to an auxiliary request; not a turn.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub auxiliary: bool,
}

/// Tokens of one model response. Input excludes tokens read from or written to the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// Uncached input tokens.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Input tokens read from the prompt cache.
    pub cache_read: u64,
    /// Input tokens written to the prompt cache.
    pub cache_write: u64,
    /// How many of the written tokens are kept for an hour instead of minutes, which costs more.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_1h: u64,
}

fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

impl Usage {
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output).saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Input tokens of all kinds: how full the context window is.
    pub fn context(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Usage since `earlier`.
    pub fn saturating_sub(&self, earlier: &Self) -> Self {
        Self {
            input: self.input.saturating_sub(earlier.input),
            output: self.output.saturating_sub(earlier.output),
            cache_read: self.cache_read.saturating_sub(earlier.cache_read),
            cache_write: self.cache_write.saturating_sub(earlier.cache_write),
            cache_write_1h: self.cache_write_1h.saturating_sub(earlier.cache_write_1h),
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_write_1h = self.cache_write_1h.saturating_add(other.cache_write_1h);
    }
}

/// Enough of a text to compare it with another: a digest of its normalised form and a simhash of its words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextFingerprint {
    /// Equal for texts that differ only in volatile parts.
    pub digest: Digest,
    /// Close in Hamming distance for similar texts.
    pub simhash: Digest,
    /// Length of the text in bytes.
    pub len: u32,
}

/// A model call failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelFailed {
    /// HTTP status, if there was a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Redacted message.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub message: Excerpt,
    /// When the provider allows a retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
}

/// A usage limit was hit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UsageLimitHit {
    /// The provider's name of the limit.
    #[serde(skip_serializing_if = "Excerpt::is_empty")]
    pub what: Excerpt,
    /// When it resets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
}
