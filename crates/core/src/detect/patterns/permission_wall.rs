//! Asked again and again for what was refused. Not a circle: it waits for a person.

use super::{Pattern, Trigger};
use crate::detect::view::Tally;
use crate::detect::words::{outcome_of, times, what_of};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::digest::Digest;
use crate::outcome::Status;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "permission_wall",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.permission_wall,
    look,
    say,
};

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if call.status() != Some(Status::Refused) || call.is_neutral() {
        return None;
    }
    let mut tally = Tally::of(call);
    for other in view.earlier(rule.window) {
        match other.status() {
            // A person who refuses says why, in other words each time; a wall does not.
            Some(Status::Refused) if other.outcome() == call.outcome() => tally.add(other),
            // The same tool was let through in between: there is no wall.
            Some(Status::Ok) if other.tool == call.tool => break,
            _ => {}
        }
    }
    (tally.count > 1)
        .then(|| tally.claim(Strength::Strong, Matcher::Tool(call.tool), call.tool_digest(), Digest::of("refused")))
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let what = what_of(view);
    Words {
        sentence: format!("This waits for a person: permission was refused {}; last: {what}", times(claim.count)),
        unchanged: outcome_of(view),
        progress: "a person's permission, or a way that needs none",
        tips: &[
            "Do not reword the request: nobody is there to answer it, or the answer is no.",
            "Go on with what needs no permission, and list what is left for the person.",
            "If nothing is left, stop and say exactly what you need and why.",
        ],
        own: None,
    }
}
