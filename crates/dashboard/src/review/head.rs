//! Title, state, what can be decided at any time, and the key figures.

use belay_core::task::WorkspaceMode;
use belay_ipc::views::{ReviewPhase, ReviewSummaryView, ReviewView};
use maud::{Markup, html};

use super::STATE;
use crate::forms::form;
use crate::frame::Frame;
use crate::parts::since;
use crate::review_task::{self, agent, agents, decide, decisions_url, state_words};
use crate::text::{name, prose};
use crate::words;

pub(super) fn head(frame: &Frame<'_>, view: &ReviewView) -> Markup {
    let task = &view.summary;
    html! {
        div.stack id=(STATE) data-tab=(tab(task)) data-about=(decisions_url(&task.id)) data-happened=[newest_decision(frame, view)] {
            div {
                p.muted { a.link href="/reviews" { "Reviews" } " / " (name(&task.id)) }
                div.title {
                    h1 { (name(&task.title)) }
                    (review_task::state(frame, task, &state_words(task)))
                    @if task.landed { span.tag { "landed" } }
                    (form(frame, "acts", &decisions_url(&task.id), &html! { (actions(frame, view)) output.answer {} }))
                }
                // The panel below begins with it.
                @if !task.needs_person() && !task.status.is_empty() { p.what { (prose(&task.status)) } }
            }
            (facts(frame, view))
        }
    }
}

/// The title of the page, which changes with the state.
pub(super) fn tab(task: &ReviewSummaryView) -> String {
    format!("{} · {}", state_words(task), name(&task.title).to_text())
}

/// "ada waived I-3 at 14:02"
fn newest_decision(frame: &Frame<'_>, view: &ReviewView) -> Option<String> {
    let decision = view.decisions.last()?;
    let who = name(&frame.who(Some(&decision.by))).to_text();
    Some(format!("{who} {} at {}", name(&decision.what).to_text(), words::moment(decision.at, frame.now, frame.zone)))
}

fn actions(frame: &Frame<'_>, view: &ReviewView) -> Markup {
    let task = &view.summary;
    // Only a worktree can be given up. In place, there is nothing to remove.
    let archive = html! { @if view.dir.is_some() && view.workspace != WorkspaceMode::InPlace { (decide::archive()) } };
    match task.phase {
        ReviewPhase::Done if task.landed => html! {},
        ReviewPhase::Done => html! { (decide::land(frame, task, "main")) (decide::apply(frame, task)) (archive) },
        ReviewPhase::Cancelled => html! { (decide::resume(task, "Resume…")) (archive) },
        // The panel below decides about everything else.
        ReviewPhase::NeedsAttention | ReviewPhase::Failed => html! { (archive) (decide::give_up()) },
        ReviewPhase::Queued => decide::cancel(task),
        _ => html! {
            (decide::answer(task))
            button type="button" disabled title="Not done yet" { "Land" }
            (decide::cancel(task))
        },
    }
}

fn facts(frame: &Frame<'_>, view: &ReviewView) -> Markup {
    let task = &view.summary;
    let fact = |label: &str, value: Markup| html! { div { dt { (label) } dd { (value) } } };
    html! {
        dl.facts {
            (fact("Builder", html! { (name(&agent(&task.builder))) }))
            (fact("Reviewers", html! {
                @if task.reviewers.is_empty() { "none " small { "the accept commands decide" } }
                @else { (name(&agents(&task.reviewers))) " " small { (agreement(view)) } }
            }))
            @if let Some(arbiter) = &view.arbiter { (fact("Disputes", html! { (name(&agent(arbiter))) " " small { "decides" } })) }
            (fact("Rounds", html! { (task.round) " " small { "of at most " (task.max_rounds) } }))
            (fact("Spent", html! { (words::dollars(task.cost_micros)) " " small { (limit(view)) } }))
            (fact("Time", html! {
                @if task.phase.has_ended() { (words::duration(task.since.saturating_since(task.filed_at))) }
                @else { (since(frame, task.filed_at)) }
            }))
            (fact("Directory", html! { code { (name(&frame.path(&task.project_dir))) } " " small { (workspace(view.workspace)) } }))
            @if let Some(dir) = view.dir.as_deref().filter(|dir| *dir != task.project_dir) {
                (fact("Worktree", html! { code { (name(&frame.path(dir))) } }))
            }
            @if !view.gates.is_empty() {
                (fact("Accept", html! { @for (at, gate) in view.gates.iter().enumerate() { @if at > 0 { ", " } code { (name(gate)) } } }))
            }
        }
    }
}

/// "both must agree"
fn agreement(view: &ReviewView) -> String {
    let reviewers = view.summary.reviewers.len() as u64;
    match (reviewers, u64::from(view.quorum)) {
        (1, _) => "must agree".to_owned(),
        (2, 0 | 2..) => "both must agree".to_owned(),
        (all, quorum) if quorum == 0 || quorum >= all => format!("all {all} must agree"),
        (_, quorum) => format!("{quorum} must agree, none may object"),
    }
}

fn limit(view: &ReviewView) -> String {
    review_task::budget(&view.summary).map_or_else(|| "no budget".to_owned(), |(_, of)| format!("of {of}"))
}

fn workspace(mode: WorkspaceMode) -> &'static str {
    match mode {
        WorkspaceMode::Worktree => "in a worktree",
        WorkspaceMode::WorktreeWithChanges => "in a worktree, with uncommitted changes",
        WorkspaceMode::InPlace => "in place",
    }
}
