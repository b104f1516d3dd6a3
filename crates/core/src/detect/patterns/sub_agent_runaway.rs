//! Too many sub-agents in one turn.

use super::{Pattern, Trigger};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "sub_agent_runaway",
    trigger: Trigger::SubAgentStarted,
    before_result: false,
    outlives_edits: true,
    second_look: false,
    rule: |rules| &rules.sub_agent_runaway,
    detect,
    describe,
};

fn detect(context: &CallContext<'_>, _: &PatternRule) -> Option<Claim> {
    let count = context.session.activity().sub_agents_started;
    (count > 0)
        .then(|| context.session_claim(count, Strength::Strong, Digest::from_bytes("sub-agents"), NudgeTarget::Any))
}

fn describe(context: &CallContext<'_>, claim: &Claim) -> Wording {
    let running = context.session.activity().running_sub_agents;
    Wording {
        sentence: format!("{} sub-agents were started in this turn, {running} of them are still running.", claim.count),
        unchanged: "each of them spends on its own".to_owned(),
        progress: "a prompt by a person, or combined results",
        tips: &[
            "Wait for the running ones and combine their results before you start more.",
            "Do the rest yourself: a sub-agent costs more than the call it saves.",
        ],
        custom_message: None,
    }
}
