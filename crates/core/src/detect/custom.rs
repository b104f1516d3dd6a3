//! Patterns of one's own.

use super::view::Tally;
use super::words::{outcome_of, times, what_of};
use super::{Claim, Matcher, Strength, View, Words};
use crate::digest::Digest;
use crate::rules::{Asked, CustomPattern, Match, Same};
use crate::session::Call;

/// The claim of the custom pattern at this position.
pub(crate) fn look(view: &View<'_>, at: usize, pattern: &CustomPattern, ready: &Match) -> Option<Claim> {
    let call = view.call()?;
    // One that can be decided before is decided then, and only then.
    if view.asked != (ready.asked == Asked::Before) {
        return None;
    }
    let matches = |call: &Call| call.custom >> at & 1 == 1 && (view.asked || call.answer.is_some());
    if !matches(call) || call.is_neutral() {
        return None;
    }
    let mut tally = Tally::of(call);
    for other in view.earlier(pattern.window.saturating_sub(1)).filter(|other| other.custom >> at & 1 == 1) {
        let same = match pattern.same {
            Same::Nothing => true,
            Same::Action => other.same_action(call),
            Same::Outcome => other.same_action(call) && other.same_answer(call),
        };
        if same {
            tally.add(other);
        }
    }
    let action = Digest::of_parts([b"custom", pattern.name.as_bytes()]);
    let matcher = match pattern.same {
        Same::Nothing => Matcher::Tool(call.tool),
        Same::Action | Same::Outcome => Matcher::Key(call.key),
    };
    let matcher = if view.asked { Matcher::Key(call.key) } else { matcher };
    let outcome = if pattern.same == Same::Nothing { Digest(0) } else { call.outcome() };
    (tally.count >= pattern.threshold).then(|| tally.claim(Strength::Strong, matcher, action, outcome))
}

pub(crate) fn say(view: &View<'_>, claim: &Claim, pattern: &CustomPattern) -> Words {
    let what = what_of(view);
    let target = what.trim_matches(['`', '.']);
    let message = pattern.message.replace("{target}", target).replace("{count}", &claim.count.to_string());
    Words {
        sentence: format!("The pattern `{}` was seen {}; last: {what}", pattern.name, times(claim.count)),
        unchanged: outcome_of(view),
        progress: "calls that do not match the pattern",
        tips: &[],
        own: Some(message.replace("{threshold}", &pattern.threshold.to_string())),
    }
}
