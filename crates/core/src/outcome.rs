//! What a tool call led to, free of timestamps, paths, addresses, durations and ids.
//!
//! [`Outcome::from_output`] does not know which tool was called, so it collects *facts* and is careful with
//! judgement: a source file that contains the word "error" is not an error. [`Outcome::failed`] is true
//! only where the call itself says so (an exit code, a harness's wrapper, an error at the very
//! start). [`Outcome::family`] and [`Outcome::checks`] are what the text *would* mean if it is the output of
//! a command; whoever knows the tool's kind decides whether to believe them.

mod check_reports;
mod error_family;
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

pub use check_reports::CheckReport;
pub(crate) use normalise::is_stable;
pub use normalise::normalise;

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
    /// It goes on in the background: neither success nor failure.
    Running,
    /// It did not end in time.
    TimedOut,
}

/// Facts drawn from a whole output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Outcome {
    /// Digest of the normalised text, its wrapper taken off.
    pub digest: Digest,
    /// Simhash of the words of the normalised text's ends, for failures that are nearly equal; zero
    /// where the sensor knew that the call went well.
    pub sketch: Digest,
    /// Length of the text in bytes, its wrapper taken off.
    pub len: u32,
    /// Exit code, as given or as it stands in the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The call itself says that it failed: exit code, wrapper, or an error at the very start.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// What kind of error it is: the cause, without line numbers, paths and other words of the
    /// single case. Equal for errors with one cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<Digest>,
    /// The cause in a few words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub family_name: String,
    /// Digest of the failure messages, numbers kept and places dropped: a changed assertion shows, a
    /// moved line does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Digest>,
    /// What tests, compilers and linters reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<CheckReport>,
    /// A person or a policy refused it, or must approve it first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// It goes on in the background.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub running: bool,
    /// It did not end in time, or its shell hangs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Something outside could not be reached: rate limit, overload, network.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub outage: bool,
    /// Nothing came back, or nothing was found.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
    /// A short constant confirmation that says nothing about what was done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub acknowledged: bool,
}

/// So much of a text is sketched, from both ends.
const MAX_SKETCHED_BYTES: usize = 2048;

/// Of longer outputs only the ends are read: head and tail.
const HEAD_BYTES: usize = 32 * 1024;
const TAIL_BYTES: usize = 16 * 1024;

impl Outcome {
    /// Facts of an output. `exit_code` is what the sensor knows; else the text may tell.
    pub fn from_output(output: &str, exit_code: Option<i32>) -> Self {
        Self::read(output, exit_code, true)
    }

    /// As [`Outcome::from_output`], of a call that the sensor knows to have gone well: its words will not be
    /// compared with those of a failure, so they are not sketched.
    pub fn from_success(output: &str, exit_code: Option<i32>) -> Self {
        Self::read(output, exit_code, false)
    }

    fn read(output: &str, exit_code: Option<i32>, sketched: bool) -> Self {
        let unwrapped = unwrap_harness::unwrap(output);
        let body = unwrapped.body.as_ref();
        let len = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let exit_code = exit_code.or(unwrapped.exit_code);
        let text = normalise(&ends(body));
        let told = unwrapped.error || exit_code.is_some_and(|code| code != 0);
        let mut signs = status_phrases::classify(&text, told);
        signs.timed_out |= exit_code == Some(124);
        let running = unwrapped.running && exit_code.is_none();
        let says_error = unwrapped.error || signs.error;
        // A program that exits well may print what it likes.
        let failed = exit_code.map_or(says_error, |code| code != 0);
        let survey = prescan::prescan(&text);
        let checks = check_reports::parse(&text, survey.readers);
        let family = error_family::parse(&text, &survey.lines, says_error);
        let failure = match &checks {
            Some(report) if report.checks.failed > 0 => Some(report.failure()),
            _ => family.as_ref().map(|family| family.message),
        };
        Self {
            digest: Digest::of(&text),
            sketch: if sketched { simhash(&one_line(&text, MAX_SKETCHED_BYTES)) } else { Digest::default() },
            len,
            exit_code,
            failed: failed && !running,
            failure,
            family: family.as_ref().map(|family| Digest::of(&family.cause)),
            family_name: family.map(|family| family.cause).unwrap_or_default(),
            checks: checks.map(|report| report.checks),
            refused: signs.refused,
            running,
            timed_out: signs.timed_out,
            // A program that reports well about somebody else's outage has none itself.
            outage: signs.outage && (failed || exit_code.is_none()),
            empty: signs.empty,
            acknowledged: signs.acknowledged,
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
pub(crate) fn one_line(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}\n{}", floor(text, limit / 2), ceil(text, text.len() - limit / 2)))
}
