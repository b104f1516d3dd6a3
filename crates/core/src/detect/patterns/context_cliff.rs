//! The model's window is nearly full: soon it forgets, or is cut off.

use super::{Pattern, Trigger};
use crate::detect::words::tokens;
use crate::detect::{Claim, Matcher, Strength, View, Words};
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
fn look(view: &View<'_>, _: &PatternRule) -> Option<Claim> {
    let percent = view.session.meter().fill_percent()?;
    Some(view.of_session(percent, Strength::Strong, Digest::of("window"), Matcher::Any))
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let (filled, window) = view.session.meter().fill;
    Words {
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
