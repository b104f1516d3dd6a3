//! Commands that do not come back, one after the other: the terminal is hung.

use super::{Pattern, Trigger};
use crate::action::ToolKind;
use crate::detect::view::Tally;
use crate::detect::words::{outcome_of, what_of};
use crate::detect::{Claim, Matcher, Strength, View, Words};
use crate::digest::Digest;
use crate::outcome::Status;
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

fn look(view: &View<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = view.call()?;
    if call.kind != ToolKind::Shell || call.status() != Some(Status::TimedOut) {
        return None;
    }
    let mut tally = Tally::of(call);
    for other in view.earlier(rule.window).filter(|other| other.kind == ToolKind::Shell) {
        if other.status() != Some(Status::TimedOut) {
            break;
        }
        tally.add(other);
    }
    (tally.count > 1)
        .then(|| tally.claim(Strength::Strong, Matcher::Tool(call.tool), Digest::of("shell"), Digest::of("timed out")))
}

fn say(view: &View<'_>, claim: &Claim) -> Words {
    let what = what_of(view);
    Words {
        sentence: format!("{} commands in a row did not come back in time; last: {what}", claim.count),
        unchanged: outcome_of(view),
        progress: "a command that comes back",
        tips: &[
            "Start a new shell (or restart this one) before anything else.",
            "Run something trivial such as `echo ok` to see whether the shell answers at all.",
            "Give long commands a time limit of their own or run them in the background with output to a file.",
        ],
        own: None,
    }
}
