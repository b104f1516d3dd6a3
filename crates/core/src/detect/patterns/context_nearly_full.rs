//! The model's window is nearly full: soon it forgets, or is cut off.

use super::{Pattern, Trigger};
use crate::detect::wording::tokens;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "context_cliff",
    trigger: Trigger::Spent,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.context_cliff,
    look,
    say,
};

/// Counts percent of the window.
fn look(view: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let percent = view.session.meter().context_fill_percent()?;
    Some(view.session_claim(percent, Strength::Strong, Digest::of("window"), NudgeTarget::Any))
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let (filled, window) = view.session.meter().fill;
    Wording {
        sentence: format!(
            "The model's window is {} % full ({} of {} tokens).",
            claim.count,
            tokens(filled),
            tokens(window)
        ),
        unchanged: "every further call carries all of it".to_owned(),
        progress: "a compaction, or a new session with a short summary",
        tips: &[
            "Write down the state of the work (done, open, next step) where you will find it again.",
            "Compact the conversation, or start a new one from that note.",
        ],
        own: None,
    }
}
