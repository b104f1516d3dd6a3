//! Lines about the program itself: compaction, API errors, limits.

use belay_core::Excerpt;
use belay_core::Timestamp;
use belay_core::event::{Body, Compacted, ModelFailed, TurnEnded, UsageLimitHit};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::record::Record;
use crate::lenient_json::{LenientString, LenientU64};
use crate::transcript::TranscriptEventBuilder;

/// Line types that are ignored.
pub(super) const IGNORED_TYPES: &[&str] = &[
    "agent-name",
    "agent-setting",
    "ai-title",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "cost-state",
    "custom-title",
    "file-history-delta",
    "file-history-snapshot",
    "frame-link",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "summary",
    "tag",
    "tools-used",
    "worktree-state",
];

/// Whether a line starts with an ignored type and can be skipped without parsing. Such lines are frequent and large; one
/// that ends like an object is taken as complete.
pub(super) fn is_ignored(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("{\"type\":") else { return false };
    let Some(rest) = rest.trim_start().strip_prefix('"') else { return false };
    rest.find('"').is_some_and(|end| IGNORED_TYPES.contains(&&rest[..end])) && line.ends_with('}')
}

/// Whether a system line ends the agent's turn.
pub(super) fn ends_turn(record: &Record<'_>) -> bool {
    matches!(&*record.subtype, "stop_hook_summary" | "turn_duration" | "compact_boundary")
}

/// Emits the events of a system line. Returns whether it was a compaction boundary.
pub(super) fn push_events(record: &Record<'_>, builder: &mut TranscriptEventBuilder<'_>) -> bool {
    match &*record.subtype {
        "compact_boundary" => {
            builder.push(compacted(record.compact_metadata));
            return true;
        }
        "api_error" => {
            let error = record.error.and_then(|raw| serde_json::from_str::<ApiError<'_>>(raw.get()).ok());
            let error = error.unwrap_or_default();
            let wait = record.retry_in_ms.filter(|millis| millis.is_finite() && *millis >= 0.0);
            builder.push(Body::ModelFailed(ModelFailed {
                status: u16::try_from(error.status.0).ok().filter(|status| *status != 0),
                message: Excerpt::with_limit(error.words(), 512),
                retry_at: wait
                    .filter(|_| builder.at.is_known())
                    .map(|millis| builder.at + std::time::Duration::from_millis(millis as u64)),
            }));
        }
        _ => {}
    }
    false
}

/// Emits a compaction.
pub(super) fn compacted(metadata: Option<&RawValue>) -> Body {
    let metadata = metadata.and_then(|raw| serde_json::from_str::<Compaction<'_>>(raw.get()).ok()).unwrap_or_default();
    Body::Compacted(Compacted {
        automatic: &*metadata.trigger != "manual",
        before: Some(metadata.pre_tokens.0).filter(|tokens| *tokens != 0),
    })
}

/// Handles a message that the program wrote in the model's name: an API error, a limit, or nothing relevant.
pub(super) fn synthetic(record: Record<'_>, builder: &mut TranscriptEventBuilder<'_>) {
    let failed = record.is_api_error_message.0;
    let text = record.message.content.into_text();
    if is_limit(&text) {
        // Old versions append the time of the reset: `...limit reached|1749924000`.
        let resets_at = text.rsplit_once('|').and_then(|(_, stamp)| Timestamp::from_number(stamp.trim().parse().ok()?));
        builder.push(Body::LimitHit(UsageLimitHit { what: Excerpt::with_limit(&text, 512), resets_at }));
    } else if failed || text.starts_with("API Error") {
        builder.push(Body::ModelFailed(ModelFailed {
            status: status_in(&text),
            message: Excerpt::with_limit(&text, 512),
            retry_at: None,
        }));
    } else {
        return;
    }
    builder.push(Body::TurnEnded(TurnEnded { failed: true, ..TurnEnded::default() }));
}

fn is_limit(text: &str) -> bool {
    let text = text.get(..200).unwrap_or(text);
    text.contains("limit reached") || text.contains("hit your") && text.contains("limit")
}

/// The first HTTP status of an error message.
fn status_in(text: &str) -> Option<u16> {
    let words = text.split(|c: char| !c.is_ascii_digit()).take(16);
    words.filter(|word| word.len() == 3).filter_map(|word| word.parse().ok()).find(|code| (400..600).contains(code))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ApiError<'a> {
    status: LenientU64,
    #[serde(borrow)]
    message: LenientString<'a>,
    #[serde(borrow)]
    code: LenientString<'a>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl ApiError<'_> {
    /// The most readable message; otherwise the raw inner error.
    fn words(&self) -> &str {
        let plain = self.message.non_empty().or(self.code.non_empty());
        plain.or(self.error.map(RawValue::get)).unwrap_or("the model call failed")
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Compaction<'a> {
    #[serde(borrow)]
    trigger: LenientString<'a>,
    pre_tokens: LenientU64,
}
