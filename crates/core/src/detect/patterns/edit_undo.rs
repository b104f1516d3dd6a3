//! A file's content returns to an earlier one, by digest.

use super::oscillation::shows_nothing_new;
use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "edit_undo",
    trigger: Trigger::FileChanged,
    before_result: false,
    outlives_edits: true,
    second_look: true,
    rule: |rules| &rules.edit_undo,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let contents = context.session.file_history();
    let reverts = contents.reverts_since(context.session.window().since());
    let first = *reverts.calls.first()?;
    let file = contents.last_changed();
    // A return after which a check said something else was a test of the difference.
    let calls = context.session.window().calls();
    let check_after = |from: u64| calls.iter().find(|call| call.ordinal > from && call.is_check_of_change());
    let told = reverts.calls.windows(2).filter(|pair| !shows_nothing_new(check_after(pair[1]), check_after(pair[0])));
    let count = reverts.calls.len().saturating_sub(told.count());
    Some(Claim {
        count: u32::try_from(count).unwrap_or(u32::MAX),
        denied: 0,
        // One content may be a base for experiments; two alternate.
        strength: if reverts.returned > 1 { Strength::Strong } else { Strength::VeryWeak },
        action: Digest::from_bytes(file.bits().to_le_bytes()),
        outcome: Digest::from_bytes("content came back"),
        first,
        calls: reverts.calls,
        entries: Vec::new(),
        nudge_target: NudgeTarget::Target(file),
    })
}

fn describe(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!(
            "A file had exactly the same content {}: changes to it were made and undone.",
            count_phrase(claim.ran())
        ),
        unchanged: "the file's content, byte for byte".to_owned(),
        progress: "content the file has not had before",
        tips: &[
            "State what each of the two versions breaks, and look for one that breaks neither.",
            "Commit or note the better of the two before you try the next idea.",
            "If two requirements contradict each other, name them and ask.",
        ],
        custom_message: None,
    }
}
