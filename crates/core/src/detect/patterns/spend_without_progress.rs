//! Tokens, money and time are spent without progress.

use std::time::Duration;

use super::{Pattern, Trigger};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::format::{dollars, minutes, tokens};
use crate::rules::{PatternRule, usd_to_micros};

pub(super) static PATTERN: Pattern = Pattern {
    name: "spend_without_progress",
    trigger: Trigger::Spent,
    before_result: false,
    outlives_edits: false,
    second_look: false,
    rule: |rules| &rules.spend_without_progress,
    detect,
    describe,
};

/// The count is the percentage of the nearest limit. Polls and plans do not count as work.
fn detect(context: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let clock = &context.session.clock;
    if context.session.calls_since_progress() < rule.calls.unwrap_or(0) || context.session.waiting.is_some() {
        return None;
    }
    let percent = |spent: u64, limit: Option<u64>| {
        limit.filter(|limit| *limit > 0).map_or(0, |limit| spent.saturating_mul(100) / limit)
    };
    let micros = rule.usd.map(usd_to_micros);
    let worst = percent(clock.since.usage.total(), rule.tokens)
        .max(percent(clock.since.cost_micros, micros))
        .max(percent(clock.since.millis / 60_000, rule.minutes));
    let count = u32::try_from(worst).unwrap_or(u32::MAX);
    (count > 0).then(|| {
        context.session_claim(count, Strength::Strong, Digest::from_bytes("spend_without_progress"), NudgeTarget::Any)
    })
}

fn describe(context: &CallContext<'_>, _: &Claim) -> Wording {
    let since = &context.session.clock.since;
    Wording {
        sentence: format!(
            "{} calls, {}{} and {} have been spent since anything new was read or changed.",
            context.session.calls_since_progress(),
            tokens(since.usage.total()),
            if since.cost_micros > 0 { format!(", {}", dollars(since.cost_micros)) } else { String::new() },
            minutes(Duration::from_millis(since.millis)),
        ),
        unchanged: "no new file content, no first read, no passing check, no commit".to_owned(),
        progress: "any of these, or a prompt by a person",
        tips: &[
            "Stop and state what you are trying to find out, and what would answer it.",
            "Take the shortest way to any visible result, even a failing test that shows the problem.",
            "If you are waiting, declare it (`belay wait`) instead of making calls.",
        ],
        custom_message: None,
    }
}
