//! Asked again and again for what was refused. Not a circle: it waits for a person.

use super::{Pattern, Trigger};
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{count_phrase, describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::outcome::CallStatus;
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

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if call.status() != Some(CallStatus::Refused) || call.is_neutral() {
        return None;
    }
    let mut tally = BatchCounter::of(call);
    for other in view.earlier(rule.window) {
        match other.status() {
            // A person who refuses says why, in other words each time; a wall does not.
            Some(CallStatus::Refused) if other.outcome() == call.outcome() => tally.add(other),
            // The same tool was let through in between: there is no wall.
            Some(CallStatus::Ok) if other.tool == call.tool => break,
            _ => {}
        }
    }
    (tally.count > 1)
        .then(|| tally.claim(Strength::Strong, NudgeTarget::Tool(call.tool), call.tool_digest(), Digest::of("refused")))
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(view);
    Wording {
        sentence: format!(
            "This waits for a person: permission was refused {}; last: {what}",
            count_phrase(claim.count)
        ),
        unchanged: describe_outcome(view),
        progress: "a person's permission, or a way that needs none",
        tips: &[
            "Do not reword the request: nobody is there to answer it, or the answer is no.",
            "Go on with what needs no permission, and list what is left for the person.",
            "If nothing is left, stop and say exactly what you need and why.",
        ],
        own: None,
    }
}
