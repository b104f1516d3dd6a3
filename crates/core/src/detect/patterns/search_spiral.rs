//! Search after search for much the same thing, and nothing found.

use super::{Pattern, Trigger};
use crate::action::ToolKind;
use crate::detect::view::Tally;
use crate::detect::words::{outcome_of, what_of};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::{Call, Traits};
use crate::sketch;

pub(super) static PATTERN: Pattern = Pattern {
    name: "search_spiral",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.search_spiral,
    look,
    say,
};

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if !in_vain(call) {
        return None;
    }
    let mut tally = Tally::of(call);
    for other in view.earlier(rule.window) {
        if in_vain(other) && sketch::similarity(call.sketch, other.sketch) >= rule.similarity() {
            tally.add(other);
        } else if other.is(Traits::NEW_CHANGE) || other.is(Traits::NEW_SIGHT) {
            break;
        }
    }
    let action = Digest::of("search");
    (tally.count > 1).then(|| tally.claim(Strength::Faint, Matcher::Tool(call.tool), action, call.outcome()))
}

/// A search that found nothing, or failed.
fn in_vain(call: &Call) -> bool {
    call.kind == ToolKind::Search && call.answer.is_some() && (call.is(Traits::BARE) || call.failed())
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let what = what_of(view);
    Words {
        sentence: format!("{} searches for much the same thing found nothing; last: {what}", claim.count),
        unchanged: outcome_of(view),
        progress: "a search that finds something new",
        tips: &[
            "It may not exist under that name: list the folder, or read the file that should use it.",
            "Search for a shorter, rarer word, without a path or type filter.",
            "If it is not there, say so and go on without it.",
        ],
        own: None,
    }
}
