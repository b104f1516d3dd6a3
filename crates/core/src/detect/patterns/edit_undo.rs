//! A file's content comes back to what it was before: by its digest, so exactly.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "edit_undo",
    trigger: Trigger::Changed,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.edit_undo,
    look,
    say,
};

fn look(view: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let contents = view.session.file_history();
    let (calls, states) = contents.reverts_since(view.session.window().since());
    let first = *calls.first()?;
    let file = contents.last_changed();
    Some(Claim {
        // The content it came back to was there once before.
        count: u32::try_from(calls.len()).unwrap_or(u32::MAX).saturating_add(1),
        // One state that is gone back to may be a base to try things from; two are a swing.
        strength: if states > 1 { Strength::Strong } else { Strength::VeryWeak },
        action: Digest::of(file.bits().to_le_bytes()),
        outcome: Digest::of("content came back"),
        first,
        calls,
        matcher: NudgeTarget::Target(file),
    })
}

fn say(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!(
            "A file had the very same content {}: changes to it were made and undone again.",
            count_phrase(claim.count)
        ),
        unchanged: "the file's content, byte for byte".to_owned(),
        progress: "content the file has not had before",
        tips: &[
            "Say what each of the two states breaks, and look for one that breaks neither.",
            "Commit or note the better of the two before you try the next idea.",
            "If two requirements contradict each other, name them and ask.",
        ],
        own: None,
    }
}
