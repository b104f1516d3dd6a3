//! Tokens, money and minutes go by, and nothing shows for it.

use super::{Pattern, Trigger};
use crate::detect::wording::{dollars, minutes, tokens};
use crate::detect::{CallContext, Claim, NudgeTarget, Strength, Wording};
use crate::digest::Digest;
use crate::rules::PatternRule;

pub(super) static PATTERN: Pattern = Pattern {
    name: "burn",
    trigger: Trigger::Spent,
    ahead: false,
    outlives_edits: false,
    rule: |rules| &rules.burn,
    look,
    say,
};

/// Counts percent of the nearest limit. Polls and plans are not what is meant by working.
fn look(view: &CallContext<'_>, rule: &PatternRule) -> Option<Claim> {
    let clock = &view.session.clock;
    if view.session.running_calls() < rule.calls.unwrap_or(0) || view.session.waiting.is_some() {
        return None;
    }
    let percent = |spent: u64, limit: Option<u64>| {
        limit.filter(|limit| *limit > 0).map_or(0, |limit| spent.saturating_mul(100) / limit)
    };
    let micros = rule.usd.map(|usd| (usd * 1e6).round() as u64);
    let worst = percent(clock.since.usage.total(), rule.tokens)
        .max(percent(clock.since.cost_micros, micros))
        .max(percent(clock.since.millis / 60_000, rule.minutes));
    let count = u32::try_from(worst).unwrap_or(u32::MAX);
    (count > 0).then(|| view.session_claim(count, Strength::Strong, Digest::of("burn"), NudgeTarget::Any))
}

fn say(view: &CallContext<'_>, _: &Claim) -> Wording {
    let since = &view.session.clock.since;
    Wording {
        sentence: format!(
            "{} calls, {} tokens{} and {} have gone by since anything new was seen or changed.",
            view.session.running_calls(),
            tokens(since.usage.total()),
            if since.cost_micros > 0 { format!(", {}", dollars(since.cost_micros)) } else { String::new() },
            minutes(since.millis),
        ),
        unchanged: "no new file content, no first look, no passing check, no commit".to_owned(),
        progress: "any of these, or a person's word",
        tips: &[
            "Stop and say what you are trying to find out, and what would answer it.",
            "Take the shortest way to any visible result, even a failing test that shows the problem.",
            "If you are waiting, declare it (`belay wait`) instead of working through the time.",
        ],
        own: None,
    }
}
