//! Model requests that bring nothing new, seen by a sensor that sees no tools.

use super::{Pattern, Trigger};
use crate::detect::words::times;
use crate::detect::{Claim, Matcher, Strength, View, Words};
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

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    // Who sees the calls themselves need not guess from the text around them.
    if view.session.counters.calls > 0 {
        return None;
    }
    let count = view.session.asks().alike(rule.similarity());
    (count > 1).then(|| view.of_session(count, Strength::Weak, Digest::of("request"), Matcher::Turn))
}

fn say(_: &View<'_>, claim: &Claim) -> Words {
    Words {
        sentence: format!("The model was asked much the same thing {} in a row.", times(claim.count)),
        unchanged: "what is new in each request is nearly the same text".to_owned(),
        progress: "a request that carries a new result",
        tips: &[
            "The last answers did not help: change the question, not its wording.",
            "Say what was tried and what came of it, and ask for a different approach.",
        ],
        own: None,
    }
}
