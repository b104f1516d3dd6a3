//! What the list of review tasks and the page of one task share: states, names, money, addresses.

pub(crate) mod decide;
pub(crate) mod resolve;

use belay_core::wait::Awaited;
use belay_ipc::views::{ReviewPhase, ReviewSummaryView};
use maud::{Markup, html};

use crate::frame::Frame;
use crate::icons::icon;
use crate::parts::{bar, path_segment, since};
use crate::text::name;
use crate::words;

/// The kind of live changes that are about review tasks.
pub(crate) const LIVE_KIND: &str = "review";

/// The name of a task in live changes.
pub(crate) fn live_key(id: &str) -> String {
    format!("{LIVE_KIND}:{id}")
}

/// Address of a task's page.
pub(crate) fn review_url(id: &str) -> String {
    format!("/reviews/{}", path_segment(id))
}

/// Address that takes decisions about a task.
pub(crate) fn decisions_url(id: &str) -> String {
    format!("{}/decisions", review_url(id))
}

/// "Claude Code", "Claude Code (opus)": the agent of a role such as `claude@opus`. A program is shown by its name.
pub(crate) fn agent(role: &str) -> String {
    match role.split_once('@') {
        Some((agent, model)) => format!("{} ({model})", words::display_name(agent)),
        None => words::display_name(role).to_owned(),
    }
}

/// "Codex, Gemini CLI"
pub(crate) fn agents(roles: &[String]) -> String {
    roles.iter().map(|role| agent(role)).collect::<Vec<_>>().join(", ")
}

/// Icon, class and word of a task's state.
pub(crate) fn look(task: &ReviewSummaryView) -> (&'static str, &'static str, &'static str) {
    match (&task.waiting, task.phase) {
        (_, ReviewPhase::Done) => ("finished", "s-done", "Done"),
        (_, ReviewPhase::NeedsAttention) => ("person", "s-need", "Needs you"),
        (_, ReviewPhase::Cancelled) => ("ended", "s-rest", "Cancelled"),
        (_, ReviewPhase::Failed) => ("failed", "s-fail", "Failed"),
        (Some(Awaited::Limit { .. }), _) => ("limited", "s-limit", "Limited"),
        (Some(Awaited::Pause { .. }), _) => ("held", "s-held", "Held"),
        (Some(_), _) => ("wait", "s-rest", "Waiting"),
        (None, ReviewPhase::Queued) => ("wait", "s-rest", "Queued"),
        (None, ReviewPhase::Preparing) => ("working", "s-work", "Preparing"),
        (None, ReviewPhase::Building) => ("working", "s-work", "Building"),
        (None, ReviewPhase::Gating) => ("working", "s-work", "Running gates"),
        (None, ReviewPhase::Reviewing) => ("working", "s-work", "Reviewing"),
    }
}

/// "Reviewing, round 4"
pub(crate) fn state_words(task: &ReviewSummaryView) -> String {
    let (_, _, word) = look(task);
    match task.phase {
        ReviewPhase::Building | ReviewPhase::Gating | ReviewPhase::Reviewing => format!("{word}, round {}", task.round),
        _ => word.to_owned(),
    }
}

/// Shape, words and time.
pub(crate) fn state(frame: &Frame<'_>, task: &ReviewSummaryView, words: &str) -> Markup {
    let (shape, class, _) = look(task);
    html! { span.state.(class) { (icon(shape)) b { (words) } (time(frame, task)) } }
}

fn time(frame: &Frame<'_>, task: &ReviewSummaryView) -> Markup {
    match &task.waiting {
        Some(Awaited::Limit { until, .. }) if !task.phase.has_ended() => {
            html! { time datetime=(until) { "until " (words::moment(*until, frame.now, frame.zone)) } }
        }
        _ => since(frame, task.since),
    }
}

/// The used share of the budget, and the budget in words.
pub(crate) fn budget(task: &ReviewSummaryView) -> Option<(u32, String)> {
    let percent = |used: u64, limit: u64| {
        let percent = used.saturating_mul(100).checked_div(limit).unwrap_or(100);
        u32::try_from(percent).unwrap_or(u32::MAX)
    };
    match (task.budget_micros, task.budget_tokens) {
        (Some(limit), _) => Some((percent(task.cost_micros, limit), words::round_dollars(limit))),
        (None, Some(limit)) => Some((percent(task.tokens, limit), format!("{} tokens", words::tokens(limit)))),
        (None, None) => None,
    }
}

/// "round 4 of 10 · 2 open issues · $4.73, 94 % of $5"; the status of a task that is done says the rest.
pub(crate) fn figures(task: &ReviewSummaryView) -> Markup {
    html! {
        @if task.phase != ReviewPhase::Done {
            "round " (task.round) " of " (task.max_rounds) " · "
            (words::pluralize(task.open_issues.into(), "open issue")) " · "
        }
        (words::dollars(task.cost_micros))
        @if let Some((percent, of)) = budget(task) { ", " (percent) " % of " (name(&of)) }
    }
}

/// The used share of the budget, drawn.
pub(crate) fn meter(task: &ReviewSummaryView) -> Markup {
    let Some((percent, of)) = budget(task) else { return html! { small { "no budget" } } };
    html! {
        div.meter { (percent) " % " small { "of " (name(&of)) } (bar(percent, &format!("{percent} % of the budget of {of} used"))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_named_with_its_model() {
        assert_eq!(["claude", "codex@gpt-5", "my-agent"].map(agent), ["Claude Code", "Codex (gpt-5)", "my-agent"]);
    }

    #[test]
    fn an_ended_task_waits_for_nothing() {
        let waiting = Some(Awaited::Lock { holder: "r-1".to_owned() });
        let task = ReviewSummaryView { phase: ReviewPhase::Cancelled, waiting, ..ReviewSummaryView::default() };
        assert_eq!(look(&task).2, "Cancelled");
        assert_eq!(look(&ReviewSummaryView { phase: ReviewPhase::Building, ..task }).2, "Waiting");
    }

    #[test]
    fn a_budget_of_nothing_is_used_up() {
        let task = ReviewSummaryView { budget_micros: Some(0), ..ReviewSummaryView::default() };
        assert_eq!(budget(&task), Some((100, "$0".to_owned())));
        let task = ReviewSummaryView { budget_micros: None, budget_tokens: Some(2_000_000), tokens: 500_000, ..task };
        assert_eq!(budget(&task), Some((25, "2.0 M tokens".to_owned())));
        assert_eq!(budget(&ReviewSummaryView { budget_tokens: None, ..task }), None);
    }
}
