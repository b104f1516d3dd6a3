//! What a tool call led to, free of timestamps, paths, addresses, durations and ids.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// How a tool call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    #[default]
    Ok,
    /// It failed.
    Error,
    /// A person or a policy refused it.
    Refused,
    /// It goes on in the background: neither success nor failure.
    Running,
    /// It did not end in time.
    TimedOut,
}

/// Facts drawn from a whole output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Outcome {
    /// Digest of the normalised text.
    pub digest: Digest,
}

impl Outcome {
    pub fn of(output: &str, _exit_code: Option<i32>) -> Self {
        Self { digest: Digest::of(output) }
    }

    /// The status that follows from exit code and text.
    pub fn status(&self, exit_code: Option<i32>) -> Status {
        if exit_code.unwrap_or(0) == 0 { Status::Ok } else { Status::Error }
    }
}
