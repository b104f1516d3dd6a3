//! The compact form of a call in a snapshot: tuples without field names.

use serde::{Deserialize, Serialize};

use super::{Call, CallFlags, CallResult, ShortDigest};
use crate::action::{LineRange, ToolKind};
use crate::digest::Digest;
use crate::outcome::CallStatus;
use crate::session::Intent;
use crate::time::Timestamp;

type AnswerRow = (CallStatus, Digest, [ShortDigest; 3], Digest, [u32; 2], Box<str>);

/// First and last line.
type LineRow = Option<(u32, u32)>;

#[derive(Serialize, Deserialize)]
pub(super) struct CallRow(
    (u64, u32, ToolKind, ShortDigest, Digest),
    [ShortDigest; 6],
    (Digest, Intent, CallFlags, u32, i64),
    (Option<Box<str>>, ShortDigest, Box<str>, LineRow),
    Option<AnswerRow>,
);

impl From<Call> for CallRow {
    fn from(call: Call) -> Self {
        Self(
            (call.ordinal, call.batch, call.kind, call.tool, call.key),
            [call.place, call.shape, call.skeleton, call.target, call.before, call.after],
            (call.sketch, call.intent, call.flags, call.custom, call.at.millis()),
            (call.id, call.id_digest, call.what, call.lines.map(|lines| (lines.first, lines.last))),
            call.result
                .map(|a| (a.status, a.digest, [a.family, a.failing, a.failure], a.sketch, [a.line, a.len], a.summary)),
        )
    }
}

impl From<CallRow> for Call {
    fn from(row: CallRow) -> Self {
        let CallRow(
            (ordinal, batch, kind, tool, key),
            [place, shape, skeleton, target, before, after],
            (sketch, intent, flags, custom, at),
            (id, id_digest, what, lines),
            result,
        ) = row;
        let lines = lines.map(|(first, last)| LineRange { first, last });
        let result = result.map(|(status, digest, [family, failing, failure], sketch, [line, len], summary)| {
            CallResult { status, digest, family, failing, failure, sketch, line, len, summary }
        });
        let at = Timestamp::from_millis(at);
        Self {
            ordinal,
            batch,
            kind,
            tool,
            key,
            place,
            shape,
            skeleton,
            sketch,
            intent,
            target,
            lines,
            before,
            after,
            flags,
            custom,
            at,
            id,
            id_digest,
            what,
            result,
        }
    }
}
