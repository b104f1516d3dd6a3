//! One tool call as detectors see it: digests and a few words, small enough to keep a hundred.

mod flags;
mod short_digest;
mod snapshot_row;

use serde::{Deserialize, Serialize};

use crate::action::{Action, ToolKind};
use crate::digest::Digest;
use crate::event::{ToolCalled, ToolReturned};
use crate::outcome::CallStatus;
use crate::simhash;
use crate::time::Timestamp;

pub use flags::CallFlags;
pub use short_digest::ShortDigest;

/// One tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "snapshot_row::CallRow", into = "snapshot_row::CallRow")]
pub struct Call {
    /// 0-based ordinal in its session.
    pub ordinal: u64,
    /// Calls made side by side share it.
    pub batch: u32,
    pub kind: ToolKind,
    /// Name of the tool.
    pub tool: ShortDigest,
    /// What is asked for, volatile parts aside.
    pub key: Digest,
    /// Folder a command first changes into.
    pub place: ShortDigest,
    /// What is asked of, coarser than `key`.
    pub shape: ShortDigest,
    /// `key` without numbers and indentation.
    pub skeleton: ShortDigest,
    /// Simhash of the salient words.
    pub sketch: Digest,
    /// The one file or folder it is about.
    pub target: ShortDigest,
    /// Text taken out by an edit.
    pub before: ShortDigest,
    /// Text put in by an edit.
    pub after: ShortDigest,
    pub traits: CallFlags,
    /// Custom patterns that match so far, one bit each.
    pub custom: u32,
    pub at: Timestamp,
    /// The agent's id of the call, when it is short enough to be worth keeping.
    pub id: Option<Box<str>>,
    /// Digest of that id, whatever its length.
    pub id_mark: ShortDigest,
    /// What was done, in a few redacted words.
    pub what: Box<str>,
    pub answer: Option<CallResult>,
}

/// What a call led to.
#[derive(Clone, Debug, PartialEq)]
pub struct CallResult {
    pub status: CallStatus,
    /// Digest of the normalised text.
    pub digest: Digest,
    /// Class of the error, numbers and names aside.
    pub family: ShortDigest,
    /// The set of failing tests or diagnostics.
    pub failing: ShortDigest,
    /// The failure messages, numbers kept and places dropped.
    pub failure: ShortDigest,
    /// Simhash of the normalised text.
    pub sketch: Digest,
    /// In a few redacted words.
    pub brief: Box<str>,
}

/// From here on two messages say the same.
const MESSAGE_SIMILARITY: f32 = 0.9;
/// Longest id kept for evidence.
const MAX_ID_BYTES: usize = 40;
/// How many bytes `what` and `brief` may take in a snapshot.
const MAX_SNAPSHOT_TEXT_BYTES: usize = 72;

impl Call {
    pub(crate) fn new(ordinal: u64, batch: u32, at: Timestamp, called: &ToolCalled) -> Self {
        let Action { hunk, .. } = &called.action;
        let action = &called.action;
        let kind = called.tool.kind;
        let mutates = action.mutates || matches!(kind, ToolKind::Edit | ToolKind::Write);
        let traits = CallFlags::default()
            .with(CallFlags::MUTATES, mutates)
            .with(CallFlags::POLL, action.poll || kind == ToolKind::Poll)
            .with(CallFlags::CHECK, action.check.is_some())
            .with(CallFlags::READ_ONLY, action.look.is_some() || matches!(kind, ToolKind::Read | ToolKind::Search))
            .with(CallFlags::COMMITS, action.commits);
        Self {
            ordinal,
            batch,
            kind,
            tool: ShortDigest::from(Digest::of(&called.tool.name)),
            key: action.key,
            place: action.place.into(),
            shape: action.shape.into(),
            skeleton: action.skeleton.into(),
            sketch: action.sketch,
            target: action.target.into(),
            before: hunk.and_then(|hunk| hunk.before).into(),
            after: hunk.map(|hunk| hunk.after).into(),
            traits,
            custom: 0,
            at,
            id: called.call.as_deref().filter(|id| id.len() <= MAX_ID_BYTES).map(Box::from),
            id_mark: called.call.as_ref().map(Digest::of).into(),
            what: match kind {
                ToolKind::Shell => shorten(called.input.as_str()),
                _ => shorten(&[&called.tool.name, " ", called.input.as_str()].concat()),
            },
            answer: None,
        }
    }

    /// Something that no tool call told of.
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
            target: ShortDigest::NONE,
            before: ShortDigest::NONE,
            after: ShortDigest::NONE,
            traits: CallFlags::EXTERNAL,
            custom: 0,
            at,
            id: None,
            id_mark: ShortDigest::NONE,
            what,
            answer: None,
        }
    }

    /// The same thing is asked for again, in the same place as far as we know.
    pub fn has_same_action(&self, other: &Self) -> bool {
        self.key == other.key && self.place.matches_digest(other.place)
    }

    /// Both were answered, and alike.
    pub fn has_same_result(&self, other: &Self) -> bool {
        match (&self.answer, &other.answer) {
            (Some(mine), Some(theirs)) => mine.digest == theirs.digest && mine.status == theirs.status,
            (None, None) => true,
            _ => false,
        }
    }

    /// Both failed, and the messages are the same but for some words.
    pub fn fails_same_way(&self, other: &Self) -> bool {
        let (Some(mine), Some(theirs)) = (&self.answer, &other.answer) else { return false };
        self.failed()
            && other.failed()
            && (mine.failure.equals_if_known(theirs.failure)
                || mine.digest == theirs.digest
                || mine.sketch != Digest(0) && simhash::similarity(mine.sketch, theirs.sketch) >= MESSAGE_SIMILARITY)
    }

    pub fn is(&self, traits: CallFlags) -> bool {
        self.traits.has(traits)
    }

    pub fn status(&self) -> Option<CallStatus> {
        self.answer.as_ref().map(|answer| answer.status)
    }

    /// It ended, and not well.
    pub fn failed(&self) -> bool {
        matches!(self.status(), Some(CallStatus::Error | CallStatus::TimedOut | CallStatus::Refused))
    }

    pub fn succeeded(&self) -> bool {
        self.status() == Some(CallStatus::Ok)
    }

    /// Class of its error, when it failed.
    pub fn family(&self) -> ShortDigest {
        self.answer.as_ref().map_or(ShortDigest::NONE, |answer| answer.family)
    }

    /// Digest of what came back; zero when nothing did.
    pub fn outcome(&self) -> Digest {
        self.answer.as_ref().map_or(Digest(0), |answer| answer.digest)
    }

    /// What came back tells next to nothing: nobody answered, an empty text, or a tool we know nothing about
    /// ("Clicked.", "Scrolled down.") that may well have done something.
    pub fn is_terse(&self) -> bool {
        let known = matches!(
            self.kind,
            ToolKind::Shell | ToolKind::Read | ToolKind::Edit | ToolKind::Write | ToolKind::Search | ToolKind::Fetch
        );
        let Some(answer) = &self.answer else { return true };
        self.is(CallFlags::NO_OUTPUT) || !known && self.succeeded() && !answer.brief.ends_with('…')
    }

    /// It changes a file through the agent's own editing tools.
    pub fn edits(&self) -> bool {
        matches!(self.kind, ToolKind::Edit | ToolKind::Write)
    }

    /// Says nothing about circles: plans and questions to a person, as long as they are accepted, and
    /// what a person allowed.
    pub fn is_neutral(&self) -> bool {
        matches!(self.kind, ToolKind::Plan | ToolKind::Ask) && !self.failed() || self.is(CallFlags::ALLOWED)
    }
}

impl CallResult {
    /// An answer that says nothing but how it went.
    pub(crate) fn is_bare(status: CallStatus) -> Self {
        Self {
            status,
            digest: Digest(0),
            family: ShortDigest::NONE,
            failing: ShortDigest::NONE,
            failure: ShortDigest::NONE,
            sketch: Digest(0),
            brief: Box::default(),
        }
    }

    pub(crate) fn new(returned: &ToolReturned) -> Self {
        let outcome = &returned.outcome;
        let status = match returned.status {
            // A sensor that only knows "failed" leaves the rest to the text.
            CallStatus::Error if outcome.refused => CallStatus::Refused,
            CallStatus::Error if outcome.timed_out => CallStatus::TimedOut,
            known => known,
        };
        let failing = outcome.checks.as_ref().filter(|checks| checks.failed > 0);
        Self {
            status,
            digest: outcome.digest,
            family: outcome.family.into(),
            failing: failing.map(|checks| checks.failing).into(),
            failure: outcome.failure.into(),
            sketch: outcome.sketch,
            brief: shorten(returned.output.as_str()),
        }
    }
}

/// The beginning of a text on one line, short also once it is escaped in a snapshot.
pub(crate) fn shorten(text: &str) -> Box<str> {
    const ELLIPSIS: char = '…';
    let mut line = [0; MAX_SNAPSHOT_TEXT_BYTES];
    let (mut len, mut room, mut blank) = (0, MAX_SNAPSHOT_TEXT_BYTES, false);
    for c in text.trim().chars() {
        if !c.is_ascii_graphic() && (c.is_whitespace() || c.is_control()) {
            blank = len > 0;
            continue;
        }
        let cost = c.len_utf8() + usize::from(matches!(c, '"' | '\\')) + usize::from(blank);
        if cost + ELLIPSIS.len_utf8() > room {
            len += ELLIPSIS.encode_utf8(&mut line[len..]).len();
            break;
        }
        if std::mem::take(&mut blank) {
            line[len] = b' ';
            len += 1;
        }
        if c.is_ascii() {
            line[len] = c as u8;
            len += 1;
        } else {
            len += c.encode_utf8(&mut line[len..]).len();
        }
        room -= cost;
    }
    Box::from(str::from_utf8(&line[..len]).unwrap_or_default())
}
