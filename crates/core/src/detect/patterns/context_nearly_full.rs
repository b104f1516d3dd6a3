//! The context window is nearly full; the agent will soon have to compact it.

use super::{Pattern, Trigger};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::format::compact;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "context_nearly_full",
    trigger: Trigger::Spent,
    before_result: false,
    outlives_edits: true,
    second_look: false,
    rule: |rules| &rules.context_nearly_full,
    detect,
    describe,
};

/// The count is the percentage of the context window in use.
fn detect(context: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let percent = context.session.meter().context_fill_percent()?;
    Some(context.session_claim(percent, Strength::Strong, Digest::from_bytes("window"), NudgeTarget::Any))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let (filled, window) = context.session.meter().fill;
    Wording {
        sentence: format!(
            "The context window is {} % full ({} of {} tokens).",
            claim.count,
            compact(filled),
            compact(window)
        ),
        unchanged: "every further call sends all of it".to_owned(),
        progress: "a compaction, or a new session with a short summary",
        tips: &[
            "Write down the state of the work (done, open, next step) to a file.",
            "Compact the conversation, or start a new one from that note.",
        ],
        custom_message: None,
    }
}
