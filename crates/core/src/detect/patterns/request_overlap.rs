//! Model requests that bring nothing new, seen by a sensor that sees no tools.

use super::{Pattern, Trigger};
use crate::detect::wording::count_phrase;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "request_overlap",
    trigger: Trigger::Asked,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.request_overlap,
    look,
    say,
};

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    // Who sees the calls themselves need not guess from the text around them.
    if view.session.counters.calls > 0 {
        return None;
    }
    let count = view.session.request_history().similar_in_a_row(rule.similarity());
    (count > 1).then(|| view.session_claim(count, Strength::Weak, Digest::of("request"), NudgeTarget::Turn))
}

fn say(_: &CallContext<'_>, claim: &Claim) -> Wording {
    Wording {
        sentence: format!("The model was asked much the same thing {} in a row.", count_phrase(claim.count)),
        unchanged: "what is new in each request is nearly the same text".to_owned(),
        progress: "a request that carries a new result",
        tips: &[
            "The last answers did not help: change the question, not its wording.",
            "Say what was tried and what came of it, and ask for a different approach.",
        ],
        own: None,
    }
}
