//! The same edits of a file over again: put in, taken out, put in.

use super::{Pattern, Trigger};
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::describe_call;
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;
use crate::session::Call;

pub(super) static PATTERN: Pattern = Pattern {
    name: "oscillation",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.oscillation,
    look,
    say,
};

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if !changes(call) || !call.target.is_some() || call.is_neutral() {
        return None;
    }
    let edits: Vec<&Call> =
        view.earlier(rule.window).filter(|other| changes(other) && other.target == call.target).collect();
    // Breaking something on purpose and mending it again is how tests are tested; doing it over is not.
    let again = |at: usize, edit: &Call| edits[at..].iter().any(|before| edit.has_same_action(before));
    if !again(0, call) {
        return None;
    }
    let mut tally = BatchCounter::of(call);
    let mut oldest = call;
    for (at, edit) in edits.iter().enumerate() {
        if again(at + 1, edit) {
            tally.add(edit);
            oldest = edit;
        }
    }
    // The first of all is the one that was gone back to.
    if let Some(first) = edits.iter().rev().find(|edit| oldest.has_same_action(edit)) {
        tally.add(first);
    }
    let there_and_back = Digest::of("there and back");
    Some(tally.claim(Strength::Weak, NudgeTarget::Target(call.target), call.target_digest(), there_and_back))
}

fn changes(call: &Call) -> bool {
    call.edits() && call.succeeded()
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(view);
    Wording {
        sentence: format!("The same edits of one file were made over again, {} so far; last: {what}", claim.count),
        unchanged: "the file goes back and forth between the same states".to_owned(),
        progress: "content the file has not had before",
        tips: &[
            "Neither state is right: say what each of the two breaks, and look for a third.",
            "Look at the whole file once before the next edit.",
        ],
        own: None,
    }
}
