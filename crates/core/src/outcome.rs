//! The normalised result of a tool call, without timestamps, paths, addresses, durations and ids.
//!
//! [`Outcome::from_output`] does not know which tool was called, so it collects facts without interpreting
//! them: a source file that contains the word "error" is not an error. [`Outcome::failed`] is set only if the
//! call itself reports a failure (an exit code, a harness wrapper, an error at the start). [`Outcome::family`]
//! and [`Outcome::checks`] apply if the text is the output of a command; the caller, who knows the tool kind,
//! decides.

mod check_reports;
mod error_family;
mod error_line;
mod known_causes;
mod normalise;
mod phrase_groups;
mod prescan;
mod read_outcome;
mod status_phrases;
mod unwrap_harness;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::excerpt::{ceil, floor};
use crate::simhash::simhash;

pub use check_reports::{CheckReport, failing_names};
pub use normalise::normalise;
pub(crate) use normalise::strip_volatile;

/// How a tool call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    #[default]
    Ok,
    /// It failed.
    Error,
    /// A person or a policy refused it.
    Refused,
    /// Continues in the background: neither success nor failure.
    Running,
    /// Timed out.
    TimedOut,
}

/// Facts about a complete output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Outcome {
    /// Digest of the normalised text without its wrapper.
    pub digest: Digest,
    /// Simhash of the ends of the normalised text, for comparing failures; zero if the sensor knows that the
    /// call succeeded.
    pub sketch: Digest,
    /// Length of the text in bytes without its wrapper.
    pub len: u32,
    /// Exit code, from the sensor or from the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The call itself reports a failure: exit code, wrapper, or an error at the start.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// The error family: the cause without line numbers, paths and other specifics. Equal for errors with the
    /// same cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<Digest>,
    /// Short text of the cause.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub family_name: String,
    /// Digest of the failure messages with numbers but without positions: a changed assertion counts, a moved
    /// line does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Digest>,
    /// The line that the error names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// What tests, compilers and linters reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<CheckReport>,
    /// A person or a policy refused it, or must approve it first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// Continues in the background.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub running: bool,
    /// Timed out, or its shell hangs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// An external system was unreachable: rate limit, overload, network.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub outage: bool,
    /// No output, or no results.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
    /// A short fixed confirmation without information.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub acknowledged: bool,
    /// A receipt: something was started and goes on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub started: bool,
    /// Digest of the text with everything that `digest` leaves out (times, durations, ids), if there is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<Digest>,
}

/// Size of the text used for the simhash, from both ends.
const MAX_SKETCHED_BYTES: usize = 2048;

/// Only head and tail of longer outputs are read.
const HEAD_BYTES: usize = 32 * 1024;
const TAIL_BYTES: usize = 16 * 1024;

/// An output without what agents wrap around it.
pub(crate) fn without_wrapper(output: &str) -> Cow<'_, str> {
    match unwrap_harness::unwrap(output).body {
        body if body.trim().is_empty() => Cow::Borrowed(output),
        body => body,
    }
}

impl Outcome {
    /// Facts about an output. `exit_code` is the sensor's; without it the text may contain one.
    pub fn from_output(output: &str, exit_code: Option<i32>) -> Self {
        Self::read(output, exit_code, true)
    }

    /// Like [`Outcome::from_output`], for a call that the sensor knows to have succeeded: skips the simhash,
    /// which is only compared for failures.
    pub fn from_success(output: &str, exit_code: Option<i32>) -> Self {
        Self::read(output, exit_code, false)
    }

    fn read(output: &str, exit_code: Option<i32>, sketched: bool) -> Self {
        let unwrapped = unwrap_harness::unwrap(output);
        let body = unwrapped.body.as_ref();
        let len = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let exit_code = exit_code.or(unwrapped.exit_code);
        let kept = ends(body);
        let (text, masked) = normalise::mask(&kept);
        let told = unwrapped.error || exit_code.is_some_and(|code| code != 0);
        let mut signs = status_phrases::classify(&text, told);
        signs.timed_out |= exit_code == Some(124);
        let running = unwrapped.running && exit_code.is_none();
        let says_error = unwrapped.error || signs.error;
        // A program that exits with 0 may print anything.
        let failed = exit_code.map_or(says_error, |code| code != 0);
        let survey = prescan::prescan(&text);
        let checks = check_reports::parse(&text, survey.readers);
        let family = error_family::parse(&text, &survey.lines, says_error);
        let failure = match &checks {
            Some(report) if report.checks.failed > 0 => Some(report.failure()),
            _ => family.as_ref().map(|family| family.message),
        };
        Self {
            digest: Digest::from_bytes(&text),
            sketch: if sketched { simhash(&head_and_tail(&text, MAX_SKETCHED_BYTES)) } else { Digest::default() },
            len,
            exit_code,
            failed: failed && !running,
            failure,
            line: family.as_ref().and_then(|family| family.line),
            family: family.as_ref().map(|family| Digest::from_bytes(&family.cause)),
            family_name: family.map(|family| family.cause).unwrap_or_default(),
            checks: checks.map(|report| report.checks),
            refused: signs.refused,
            running,
            timed_out: signs.timed_out,
            // A successful program that mentions an outage has none itself.
            outage: signs.outage && (failed || exit_code.is_none()),
            empty: signs.empty,
            acknowledged: signs.acknowledged,
            started: signs.started,
            exact: masked.then(|| Digest::from_bytes(kept.as_ref())),
        }
    }

    /// The status that follows from exit code and text.
    pub fn status(&self, exit_code: Option<i32>) -> CallStatus {
        if self.refused {
            CallStatus::Refused
        } else if self.timed_out {
            CallStatus::TimedOut
        } else if self.running {
            CallStatus::Running
        } else if self.failed || exit_code.is_some_and(|code| code != 0) {
            CallStatus::Error
        } else {
            CallStatus::Ok
        }
    }
}

/// Head and tail of a long text.
fn ends(text: &str) -> Cow<'_, str> {
    if text.len() <= HEAD_BYTES + TAIL_BYTES {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}\n[...]\n{}", floor(text, HEAD_BYTES), ceil(text, text.len() - TAIL_BYTES)))
}

/// At most `limit` bytes of both ends of a text.
pub(crate) fn head_and_tail(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}\n{}", floor(text, limit / 2), ceil(text, text.len() - limit / 2)))
}
