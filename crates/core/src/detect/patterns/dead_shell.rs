//! Consecutive commands that time out: the shell hangs.

use super::{Pattern, Trigger};
use crate::action::ToolKind;
use crate::detect::call_context::BatchCounter;
use crate::detect::wording::{describe_call, describe_outcome};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::outcome::CallStatus;
use crate::rules::PatternRule;
use crate::session::{Call, CallFlags};

pub(super) static PATTERN: Pattern = Pattern {
    name: "dead_shell",
    trigger: Trigger::CallUpdated,
    before_result: false,
    outlives_edits: true,
    second_look: true,
    rule: |rules| &rules.dead_shell,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let call = context.call()?;
    // A command that waits for something has a limit of its own.
    let waits = call.is(CallFlags::POLL);
    if call.kind != ToolKind::Shell || call.status() != Some(CallStatus::TimedOut) || waits {
        return None;
    }
    let mut counter = BatchCounter::new(call);
    // Long commands time out for their own reasons; a shell in which a plain look times out is dead.
    let mut looked = call.is(CallFlags::READ_ONLY);
    for other in context.earlier_with_allowed(rule.window).filter(|other| other.kind == ToolKind::Shell) {
        if other.status() != Some(CallStatus::TimedOut) || other.is(CallFlags::ALLOWED) {
            // A restart says nothing about the commands that follow it.
            if restarts(other) {
                continue;
            }
            break;
        }
        if other.is(CallFlags::POLL) {
            continue;
        }
        looked |= other.is(CallFlags::READ_ONLY);
        counter.add(other);
    }
    let strength = if looked { Strength::Strong } else { Strength::Weak };
    (counter.count > 1).then(|| {
        counter.claim(
            strength,
            NudgeTarget::Tool(call.tool),
            Digest::from_bytes("shell"),
            Digest::from_bytes("timed out"),
        )
    })
}

/// A call that only restarts the shell tool.
fn restarts(call: &Call) -> bool {
    call.result.as_ref().is_some_and(|result| {
        let text = result.summary.to_ascii_lowercase();
        text.contains("restarted") || text.contains("new shell") || text.contains("session has been reset")
    })
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let what = describe_call(context);
    Wording {
        sentence: format!("{} commands in a row timed out; last: {what}", claim.ran()),
        unchanged: describe_outcome(context),
        progress: "a command that returns",
        tips: &[
            "Start a new shell (or restart this one) before anything else.",
            "Run something trivial such as `echo ok` to check whether the shell responds at all.",
            "Give long commands their own timeout or run them in the background with output to a file.",
        ],
        custom_message: None,
    }
}
