//! States, times and amounts in words, as in the dashboard.

pub(crate) use belay_agents::display_name;
pub(crate) use belay_core::format::duration;
use belay_core::session::StateName;
use belay_core::status::{StatusValue, WaitingFor};
use belay_core::{Timestamp, format};
use belay_ipc::views::{NeedKind, ReviewAttention, ReviewPhase, ReviewSummaryView, SessionView};
use jiff::tz::TimeZone;

use crate::style::Tone;

/// A state: its symbol, word and tone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    pub(crate) symbol: &'static str,
    pub(crate) word: &'static str,
    pub(crate) tone: Tone,
}

pub(crate) fn need_state(kind: NeedKind) -> State {
    let (symbol, word, tone) = match kind {
        NeedKind::Question => ("?", "Question", Tone::Warn),
        NeedKind::Permission => ("!", "Permission", Tone::Warn),
        NeedKind::PlanApproval => ("≡", "Plan approval", Tone::Warn),
        NeedKind::Dialog => ("□", "Dialog", Tone::Warn),
        NeedKind::Loop => ("‖", "Held: loop", Tone::Bad),
        NeedKind::OverBudget => ("$", "Over budget", Tone::Bad),
        NeedKind::Paused => ("‖", "Paused", Tone::Bad),
        NeedKind::Looping => ("↻", "Looping", Tone::Warn),
        NeedKind::Stalled => ("◇", "Stalled", Tone::Warn),
        NeedKind::Failed => ("×", "Failed", Tone::Bad),
        NeedKind::Finished => ("✓", "Finished", Tone::Ok),
        NeedKind::Decision => ("!", "Needs you", Tone::Warn),
    };
    State { symbol, word, tone }
}

pub(crate) fn session_state(session: &SessionView) -> State {
    let (symbol, word, tone) = match (session.status.value, session.status.waiting_for) {
        (StatusValue::Held, _) if session.state == StateName::Killed => ("×", "Killed", Tone::Bad),
        (StatusValue::Held, _) => ("‖", "Held", Tone::Bad),
        (StatusValue::Working, _) => ("●", "Working", Tone::Ok),
        (StatusValue::Waiting, Some(WaitingFor::Permission)) => return need_state(NeedKind::Permission),
        (StatusValue::Waiting, Some(WaitingFor::Question)) => return need_state(NeedKind::Question),
        (StatusValue::Waiting, Some(WaitingFor::PlanApproval)) => return need_state(NeedKind::PlanApproval),
        (StatusValue::Waiting, Some(WaitingFor::Dialog)) => return need_state(NeedKind::Dialog),
        (StatusValue::Waiting, _) => ("○", "Waiting", Tone::Plain),
        (StatusValue::Limited, _) => ("◔", "Limited", Tone::Warn),
        (StatusValue::Finished, _) => return need_state(NeedKind::Finished),
        (StatusValue::Failed, _) => return need_state(NeedKind::Failed),
        (StatusValue::Stalled, _) => return need_state(NeedKind::Stalled),
        (StatusValue::Idle, _) => ("·", "Idle", Tone::Plain),
        (StatusValue::Ended, _) => ("·", "Ended", Tone::Plain),
        (StatusValue::Unknown, _) => ("·", "Unknown", Tone::Plain),
    };
    State { symbol, word, tone }
}

/// What a review task needs, in a word or two.
pub(crate) fn review_state(task: &ReviewSummaryView) -> State {
    let (symbol, word, tone) = match (task.phase, task.attention) {
        (ReviewPhase::Done, _) => return need_state(NeedKind::Finished),
        (ReviewPhase::Failed, _) => return need_state(NeedKind::Failed),
        (_, Some(ReviewAttention::BudgetUsed)) => return need_state(NeedKind::OverBudget),
        (_, Some(ReviewAttention::Reseeding)) => return need_state(NeedKind::Looping),
        (_, Some(ReviewAttention::RoundsUsed)) => ("!", "Out of rounds", Tone::Warn),
        (_, Some(ReviewAttention::BlockedOnHuman)) => ("!", "Blocked", Tone::Warn),
        (_, Some(ReviewAttention::Dispute)) => ("!", "Dispute", Tone::Warn),
        (_, Some(ReviewAttention::GateStuck)) => ("!", "Gate fails", Tone::Warn),
        (_, Some(ReviewAttention::NoVerdict)) => ("!", "No verdict", Tone::Warn),
        (_, Some(ReviewAttention::TreeChanged)) => ("!", "Files changed", Tone::Warn),
        (_, Some(ReviewAttention::InstructionsChanged)) => ("!", "Instructions", Tone::Warn),
        (_, Some(ReviewAttention::Refused)) => ("!", "Cannot run", Tone::Warn),
        (_, None) => return need_state(NeedKind::Decision),
    };
    State { symbol, word, tone }
}

/// "Review · billing-api · Claude Code, reviewed by Codex"
pub(crate) fn review_place(task: &ReviewSummaryView) -> String {
    let agent = |role: &str| display_name(role.split('@').next().unwrap_or(role)).to_owned();
    let mut agents = agent(&task.builder);
    if !task.reviewers.is_empty() {
        let reviewers: Vec<String> = task.reviewers.iter().map(|role| agent(role)).collect();
        agents.push_str(&format!(", reviewed by {}", reviewers.join(", ")));
    }
    let project = task.project_dir.trim_end_matches('/').rsplit('/').next().filter(|project| !project.is_empty());
    ["Review"].into_iter().chain(project).chain([&*agents]).collect::<Vec<_>>().join(" · ")
}

/// "15:10" today, "Nov 17 15:10" otherwise; empty if the time is unknown.
pub(crate) fn clock(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let local = |at: Timestamp| {
        let stamp = jiff::Timestamp::from_millisecond(at.millis()).ok().filter(|_| at.is_known())?;
        Some(stamp.to_zoned(zone.clone()))
    };
    let Some(time) = local(at) else { return String::new() };
    let is_today = local(now).is_some_and(|now| now.date() == time.date());
    time.strftime(if is_today { "%H:%M" } else { "%b %d %H:%M" }).to_string()
}

/// "13:30:57"
pub(crate) fn clock_seconds(at: Timestamp, zone: &TimeZone) -> String {
    let stamp = jiff::Timestamp::from_millisecond(at.millis()).ok();
    stamp.map(|stamp| stamp.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string()).unwrap_or_default()
}

/// "Claude Code · shop · fix/cart-discount"
pub(crate) fn place(session: &SessionView) -> String {
    let parts = [Some(display_name(&session.agent)), session.project_name(), session.branch.as_deref()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// All that the session and its sub-agents have cost.
pub(crate) fn total_cost(session: &SessionView) -> String {
    format::cost(
        session.cost_micros.saturating_add(session.sub_agents.cost_micros),
        session.unpriced_micros.saturating_add(session.sub_agents.unpriced_micros),
    )
}

/// The limit in force: "$15", "2.0M tokens".
pub(crate) fn limit(session: &SessionView) -> Option<String> {
    let money = session.limits.cost_micros.map(amount);
    money.or_else(|| session.limits.tokens.map(format::tokens))
}

/// "$15" or "$2.50": whole dollars without cents.
pub(crate) fn amount(micros: u64) -> String {
    match micros.is_multiple_of(1_000_000) {
        true => format!("${}", format::grouped(micros / 1_000_000)),
        false => format::dollars(micros),
    }
}

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Bars of one column each, relative to the largest value. Zero is the lowest bar.
pub(crate) fn sparkline(values: impl Iterator<Item = u64> + Clone) -> String {
    sparkline_of(values.clone().max().unwrap_or(0), values)
}

/// Like [`sparkline()`], relative to `max`.
pub(crate) fn sparkline_of(max: u64, values: impl Iterator<Item = u64>) -> String {
    let max = max.max(1);
    values.map(|value| LEVELS[level(value, max)]).collect()
}

fn level(value: u64, max: u64) -> usize {
    if value == 0 {
        return 0;
    }
    let scaled = u128::from(value) * (LEVELS.len() as u128 - 1) / u128::from(max);
    usize::try_from(scaled).unwrap_or(0).clamp(1, LEVELS.len() - 1)
}

/// A bar of `columns` columns that is filled to a percentage.
pub(crate) fn bar(percent: u32, columns: usize) -> String {
    let percent = usize::try_from(percent.min(100)).unwrap_or(100);
    let full = (percent * columns).div_ceil(100).min(columns);
    format!("{}{}", "█".repeat(full), "░".repeat(columns - full))
}
