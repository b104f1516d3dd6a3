//! A tool call as detectors see it: digests and short texts, small enough to retain
//! [`CALL_WINDOW`](super::CALL_WINDOW) of them.

mod flags;
mod short_digest;
mod short_text;
mod snapshot_row;

use serde::{Deserialize, Serialize};

use super::word_novelty::Intent;
use crate::action::{Action, LineRange, ToolKind};
use crate::digest::Digest;
use crate::event::{CheckKind, ToolCalled, ToolReturned};
use crate::outcome::{CallStatus, Outcome, without_wrapper};
use crate::simhash;
use crate::time::Timestamp;

pub use flags::CallFlags;
pub use short_digest::ShortDigest;
pub(crate) use short_text::shorten;

/// One tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "snapshot_row::CallRow", into = "snapshot_row::CallRow")]
pub struct Call {
    /// 0-based ordinal in the session.
    pub ordinal: u64,
    /// Calls made in parallel share a batch.
    pub batch: u32,
    pub kind: ToolKind,
    /// Digest of the tool name.
    pub tool: ShortDigest,
    /// Fingerprint of the input without volatile parts.
    pub key: Digest,
    /// Directory a command changes into first.
    pub place: ShortDigest,
    /// Coarser than `key`: path of an edit, program and subcommand of a command.
    pub shape: ShortDigest,
    /// `key` without numbers and indentation.
    pub skeleton: ShortDigest,
    /// Simhash of the salient words.
    pub sketch: Digest,
    /// What the input is about, if it may ask something.
    pub intent: Intent,
    /// The file or directory in question, if there is exactly one.
    pub target: ShortDigest,
    /// Which lines of the target a read shows.
    pub lines: Option<LineRange>,
    /// Text removed by an edit.
    pub before: ShortDigest,
    /// Text inserted by an edit.
    pub after: ShortDigest,
    pub flags: CallFlags,
    /// Bit set of the custom patterns that match so far.
    pub custom: u32,
    pub at: Timestamp,
    /// The agent's call id, if it is short enough to retain.
    pub id: Option<Box<str>>,
    /// Digest of the call id, whatever its length.
    pub id_digest: ShortDigest,
    /// Short redacted description of the input.
    pub what: Box<str>,
    pub result: Option<CallResult>,
}

/// Result of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallResult {
    pub status: CallStatus,
    /// Digest of the normalised text.
    pub digest: Digest,
    /// Error family.
    pub family: ShortDigest,
    /// Digest of the set of failing tests or diagnostics, and of how many passed.
    pub failing: ShortDigest,
    /// Digest of the failure messages with numbers but without positions.
    pub failure: ShortDigest,
    /// Simhash of the normalised text.
    pub sketch: Digest,
    /// Line that the failure names; 0 if none.
    pub line: u32,
    /// Length of the output in bytes.
    pub len: u32,
    /// Short redacted text of the output.
    pub summary: Box<str>,
}

/// Minimum similarity of two messages that count as the same.
const MESSAGE_SIMILARITY: f32 = 0.9;
/// Maximum length of a retained id.
pub(super) const MAX_ID_BYTES: usize = 40;

/// Whether a file holds plans, notes or a status, which agents write for themselves.
fn is_notes(path: &str) -> bool {
    const WORDS: &[&str] = &[
        "plan",
        "plans",
        "planning",
        "todo",
        "todos",
        "notes",
        "progress",
        "status",
        "checklist",
        "scratch",
        "scratchpad",
        "steps",
    ];
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path).to_ascii_lowercase();
    let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, ""));
    let mut words = stem.split(|c: char| !c.is_ascii_alphabetic());
    matches!(extension, "md" | "txt" | "") && words.any(|word| WORDS.contains(&word))
}

impl Call {
    pub(crate) fn new(ordinal: u64, batch: u32, at: Timestamp, called: &ToolCalled) -> Self {
        let Action { hunk, .. } = &called.action;
        let action = &called.action;
        let kind = called.tool.kind;
        let mutates = action.mutates || matches!(kind, ToolKind::Edit | ToolKind::Write);
        let flags = CallFlags::default()
            .with(CallFlags::MUTATES, mutates)
            .with(CallFlags::POLL, action.poll || kind == ToolKind::Poll)
            .with(CallFlags::CHECK, action.check.is_some())
            .with(CallFlags::READ_ONLY, action.look.is_some() || matches!(kind, ToolKind::Read | ToolKind::Search))
            .with(CallFlags::COMMITS, action.commits)
            .with(CallFlags::ENV_FILE, action.env_file)
            .with(CallFlags::BUILDS, action.check == Some(CheckKind::Build))
            .with(CallFlags::WRITES_FILE, action.writes_file)
            .with(CallFlags::PROBE, action.probe)
            .with(CallFlags::NO_OP, action.no_op)
            .with(CallFlags::NOTES, mutates && called.file().is_some_and(is_notes))
            .with(CallFlags::RESTORES, action.restores)
            .with(CallFlags::STARTS, action.starts)
            .with(CallFlags::OVERWRITES, action.overwrites || kind == ToolKind::Write)
            .with(CallFlags::LINTS, action.check == Some(CheckKind::Lint));
        Self {
            ordinal,
            batch,
            kind,
            tool: ShortDigest::from(Digest::from_bytes(&called.tool.name)),
            key: action.key,
            place: action.place.into(),
            shape: action.shape.into(),
            skeleton: action.skeleton.into(),
            sketch: action.sketch,
            intent: if kind.may_ask() {
                Intent::from_input(called.input.as_str(), kind == ToolKind::Shell)
            } else {
                Intent::default()
            },
            target: action.target.into(),
            lines: action.lines,
            before: hunk.and_then(|hunk| hunk.before).into(),
            after: hunk.map(|hunk| hunk.after).into(),
            flags,
            custom: 0,
            at,
            id: called.call.as_deref().filter(|id| id.len() <= MAX_ID_BYTES).map(Box::from),
            id_digest: called.call.as_ref().map(Digest::from_bytes).into(),
            what: match kind {
                ToolKind::Shell => shorten(called.input.as_str()),
                _ => shorten(&[&called.tool.name, " ", called.input.as_str()].concat()),
            },
            result: None,
        }
    }

    /// A change or check that no tool call reported.
    pub(crate) fn observed(
        ordinal: u64,
        batch: u32,
        kind: ToolKind,
        key: Digest,
        at: Timestamp,
        what: Box<str>,
    ) -> Self {
        Self {
            ordinal,
            batch,
            kind,
            tool: ShortDigest::NONE,
            key,
            place: ShortDigest::NONE,
            shape: ShortDigest::NONE,
            skeleton: ShortDigest::NONE,
            sketch: Digest(0),
            intent: Intent::default(),
            target: ShortDigest::NONE,
            lines: None,
            before: ShortDigest::NONE,
            after: ShortDigest::NONE,
            flags: CallFlags::EXTERNAL,
            custom: 0,
            at,
            id: None,
            id_digest: ShortDigest::NONE,
            what,
            result: None,
        }
    }

    /// Same input in the same directory, as far as known.
    pub fn has_same_action(&self, other: &Self) -> bool {
        self.key == other.key && self.place.is_compatible_with(other.place)
    }

    /// Both have equal results, or both have none.
    pub fn has_same_result(&self, other: &Self) -> bool {
        match (&self.result, &other.result) {
            (Some(mine), Some(theirs)) => mine.digest == theirs.digest && mine.status == theirs.status,
            (None, None) => true,
            _ => false,
        }
    }

    /// Whether times, durations and ids in the output are a part of what it says. In a failure, in the report of a check
    /// and in the confirmation of a change they are not; what any other program prints may be nothing else.
    pub(crate) fn shows_its_values(&self, outcome: &Outcome) -> bool {
        let reports = self.is(CallFlags::CHECK) || outcome.checks.is_some() || outcome.family.is_some();
        !self.failed() && !reports && !self.is(CallFlags::MUTATES)
    }

    /// Both failed with nearly the same message.
    pub fn fails_same_way(&self, other: &Self) -> bool {
        let (Some(mine), Some(theirs)) = (&self.result, &other.result) else { return false };
        self.failed()
            && other.failed()
            && !mine.moved_on_from(theirs)
            && (mine.failure.equals_if_known(theirs.failure)
                || mine.digest == theirs.digest
                || mine.sketch != Digest(0) && simhash::similarity(mine.sketch, theirs.sketch) >= MESSAGE_SIMILARITY)
    }

    pub fn is(&self, flags: CallFlags) -> bool {
        self.flags.intersects(flags)
    }

    pub fn status(&self) -> Option<CallStatus> {
        self.result.as_ref().map(|result| result.status)
    }

    /// Failed, timed out or was refused.
    pub fn failed(&self) -> bool {
        matches!(self.status(), Some(CallStatus::Error | CallStatus::TimedOut | CallStatus::Refused))
    }

    pub fn succeeded(&self) -> bool {
        self.status() == Some(CallStatus::Ok)
    }

    /// Succeeded, or started something that may not have ended yet.
    pub(crate) fn took_effect(&self) -> bool {
        self.succeeded() || self.is(CallFlags::STARTS) && self.status() == Some(CallStatus::Running)
    }

    /// Error family, if it failed.
    pub fn family(&self) -> ShortDigest {
        self.result.as_ref().map_or(ShortDigest::NONE, |result| result.family)
    }

    /// Digest of the output; zero if there is no result.
    pub fn outcome(&self) -> Digest {
        self.result.as_ref().map_or(Digest(0), |result| result.digest)
    }

    /// The result proves little: none, an empty text, or a short confirmation ("Clicked.") of an unknown tool
    /// that may have had an effect.
    pub fn is_terse(&self) -> bool {
        let known = matches!(
            self.kind,
            ToolKind::Shell | ToolKind::Read | ToolKind::Edit | ToolKind::Write | ToolKind::Search | ToolKind::Fetch
        );
        let Some(result) = &self.result else { return true };
        self.is(CallFlags::NO_OUTPUT) || !known && self.succeeded() && !result.summary.ends_with('…')
    }

    /// Changes a file through the agent's editing tools.
    pub fn edits(&self) -> bool {
        matches!(self.kind, ToolKind::Edit | ToolKind::Write)
    }

    /// Changes a file, through an editing tool or by a command.
    pub fn changes_file(&self) -> bool {
        self.edits() || self.is(CallFlags::WRITES_FILE)
    }

    /// A command that may show what a change did.
    pub fn is_check_of_change(&self) -> bool {
        let runs = self.kind == ToolKind::Shell && !self.is(CallFlags::READ_ONLY) && !self.changes_file();
        self.result.is_some() && (runs || self.is(CallFlags::CHECK))
    }

    /// A command such as `git checkout` that may have taken earlier edits away.
    pub fn may_restore_files(&self) -> bool {
        self.succeeded() && self.is(CallFlags::RESTORES)
    }

    /// Succeeded for the first time in this way and may affect what later calls show: a change, a build, or something
    /// whose effects are unknown. Reads and checks do not.
    pub fn may_affect_others(&self) -> bool {
        let reads = self.is(CallFlags::READ_ONLY) || self.is(CallFlags::POLL) || self.is(CallFlags::NO_OP);
        let checks = self.is(CallFlags::CHECK) && !self.is(CallFlags::BUILDS);
        self.took_effect()
            && !reads
            && !checks
            && (self.is(CallFlags::NEW_ACTION_OUTCOME) || self.is(CallFlags::NEW_CHANGE) || self.may_restore_files())
            && !matches!(self.kind, ToolKind::Plan | ToolKind::Ask | ToolKind::Finish)
    }

    /// Not evidence: accepted plans and questions to a person, and calls that are allowed.
    pub fn is_neutral(&self) -> bool {
        matches!(self.kind, ToolKind::Plan | ToolKind::Ask) && !self.failed() || self.is(CallFlags::ALLOWED)
    }
}

/// An error that is reported this many lines away is another one, even if its message is the same. Smaller moves
/// happen when lines above it are edited.
const MIN_MOVED_LINES: u32 = 15;

/// Two outputs are clearly different if one is longer than the other by this factor.
const MAX_LENGTH_RATIO: u32 = 2;

impl CallResult {
    /// Whether both failures name a line, and the lines are far apart: the first was dealt with.
    pub fn moved_on_from(&self, other: &Self) -> bool {
        self.line != 0 && other.line != 0 && self.line.abs_diff(other.line) >= MIN_MOVED_LINES
    }

    /// Whether the lengths show that the outputs are not the same.
    pub fn has_comparable_length(&self, other: &Self) -> bool {
        let (short, long) = (self.len.min(other.len), self.len.max(other.len));
        long < 200 || long <= short.saturating_mul(MAX_LENGTH_RATIO)
    }

    /// A result with nothing but a status.
    pub(crate) fn status_only(status: CallStatus) -> Self {
        Self {
            status,
            digest: Digest(0),
            family: ShortDigest::NONE,
            failing: ShortDigest::NONE,
            failure: ShortDigest::NONE,
            sketch: Digest(0),
            line: 0,
            len: 0,
            summary: Box::default(),
        }
    }

    /// The status of a result, without the rest.
    pub(crate) fn status_of(returned: &ToolReturned) -> CallStatus {
        match returned.status {
            // A sensor that only reports "failed" leaves the details to the text.
            CallStatus::Error if returned.outcome.refused => CallStatus::Refused,
            CallStatus::Error if returned.outcome.timed_out => CallStatus::TimedOut,
            known => known,
        }
    }

    pub(crate) fn new(returned: &ToolReturned) -> Self {
        let outcome = &returned.outcome;
        let failing = outcome.checks.as_ref().filter(|checks| checks.failed > 0);
        Self {
            status: Self::status_of(returned),
            digest: outcome.digest,
            family: outcome.family.into(),
            // More tests that pass are progress, also while the same ones fail.
            failing: failing.map(|checks| Digest(checks.failing.0 ^ u64::from(checks.passed.unwrap_or(0)) << 1)).into(),
            failure: outcome.failure.into(),
            sketch: outcome.sketch,
            line: outcome.line.unwrap_or(0),
            len: outcome.len,
            summary: shorten(&without_wrapper(returned.output.as_str())),
        }
    }
}
