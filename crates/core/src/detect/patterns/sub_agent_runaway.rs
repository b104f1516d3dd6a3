//! One sub-agent after the other.

use super::{Pattern, Trigger};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "sub_agent_runaway",
    trigger: Trigger::Branched,
    ahead: false,
    outlives_edits: true,
    rule: |rules| &rules.sub_agent_runaway,
    look,
    say,
};

fn look(view: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let count = view.session.activity().children_started;
    (count > 0).then(|| view.session_claim(count, Strength::Strong, Digest::of("sub-agents"), NudgeTarget::Any))
}

fn say(view: &CallContext<'_>, claim: &Claim) -> Wording {
    let running = view.session.activity().children;
    Wording {
        sentence: format!("{} sub-agents were started in this turn, {running} of them still run.", claim.count),
        unchanged: "each of them spends on its own".to_owned(),
        progress: "a person's word, or results put together",
        tips: &[
            "Wait for those that run and put their results together before you start more.",
            "Do the rest yourself: a sub-agent costs more than the call it saves.",
        ],
        own: None,
    }
}
