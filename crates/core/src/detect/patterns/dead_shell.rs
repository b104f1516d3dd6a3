//! Commands that do not come back, one after the other: the terminal is hung.

use super::{Pattern, Trigger};
use crate::action::ToolKind;
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::outcome::CallStatus;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "dead_shell",
    trigger: Trigger::Answered,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.dead_shell,
    look,
    say,
};

fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if call.kind != ToolKind::Shell || call.status() != Some(CallStatus::TimedOut) {
        return None;
    }
    let mut tally = BatchCounter::of(call);
    for other in view.earlier(rule.window).filter(|other| other.kind == ToolKind::Shell) {
        if other.status() != Some(CallStatus::TimedOut) {
            break;
        }
        tally.add(other);
    }
    (tally.count > 1).then(|| {
        tally.claim(Strength::Strong, NudgeTarget::Tool(call.tool), Digest::of("shell"), Digest::of("timed out"))
    })
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(view);
    Wording {
        sentence: format!("{} commands in a row did not come back in time; last: {what}", claim.count),
        unchanged: describe_outcome(view),
        progress: "a command that comes back",
        tips: &[
            "Start a new shell (or restart this one) before anything else.",
            "Run something trivial such as `echo ok` to see whether the shell answers at all.",
            "Give long commands a time limit of their own or run them in the background with output to a file.",
        ],
        own: None,
    }
}
