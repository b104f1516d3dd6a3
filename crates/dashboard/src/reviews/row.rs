//! One task in the list.

use belay_core::wait::Awaited;
use belay_ipc::views::{ReviewPhase, ReviewSummaryView};
use maud::{Markup, html};

use crate::forms::form;
use crate::frame::Frame;
use crate::parts::{element_id, session_url};
use crate::review_task::{self, agent, agents, decide, decisions_url, figures, resolve, review_url};
use crate::text::{name, prose};
use crate::words;

/// A task that needs a person: state, reason, and the buttons that resolve it.
pub(super) fn needs(frame: &Frame<'_>, task: &ReviewSummaryView) -> Markup {
    html! {
        li id=(element_id("r", &task.id)) data-row {
            p { (review_task::state(frame, task, review_task::look(task).2)) }
            div.what {
                h3 { (link(task)) " " (whereabouts(frame, task)) }
                p { (prose(&task.status)) }
                small { (figures(task)) }
            }
            (actions(frame, task))
        }
    }
}

/// Any other task.
pub(super) fn row(frame: &Frame<'_>, task: &ReviewSummaryView) -> Markup {
    html! {
        tr id=(element_id("r", &task.id)) data-row {
            td { (review_task::state(frame, task, review_task::look(task).2)) }
            th.all scope="row" { (link(task)) br; (whereabouts(frame, task)) }
            td.all { div.status { (prose(&task.status)) } }
            td data-l="round" { @if task.round == 0 { small { "at most " (task.max_rounds) } } @else { (task.round) " " small { "of " (task.max_rounds) } } }
            td.n data-l="open issues" { @if task.round == 0 { "–" } @else { (task.open_issues) } }
            td.n data-l="cost" { (words::dollars(task.cost_micros)) @if task.tokens > 0 { br; " " small { (words::tokens(task.tokens)) " tokens" } } }
            td { (review_task::meter(task)) }
            td.all { (actions(frame, task)) }
        }
    }
}

fn link(task: &ReviewSummaryView) -> Markup {
    html! { a href=(review_url(&task.id)) { (name(&task.title)) } }
}

/// "Claude Code, reviewed by Codex · ~/src/payments"
fn whereabouts(frame: &Frame<'_>, task: &ReviewSummaryView) -> Markup {
    html! {
        small {
            (name(&agent(&task.builder)))
            @if !task.reviewers.is_empty() { ", reviewed by " (name(&agents(&task.reviewers))) }
            " · " (name(&frame.path(&task.project_dir)))
        }
    }
}

/// What a person can do about the task from here.
fn actions(frame: &Frame<'_>, task: &ReviewSummaryView) -> Markup {
    let buttons = match (&task.waiting, task.phase) {
        _ if task.needs_decision() => return resolve::actions(frame, task),
        (_, ReviewPhase::NeedsAttention | ReviewPhase::Failed | ReviewPhase::Cancelled) => {
            decide::resume(task, "Resume…")
        }
        (_, ReviewPhase::Done) if task.landed => html! { span.tag { "landed" } },
        (_, ReviewPhase::Done) if task.archived => html! { span.tag { "archived" } },
        (_, ReviewPhase::Done) => html! { (decide::land(frame, task, "main")) },
        (Some(Awaited::Pause { session, .. }), _) => html! {
            a.button.main href=(session_url(session)) { "Open the session" }
            (decide::cancel(task))
        },
        _ => decide::cancel(task),
    };
    form(frame, "acts", &decisions_url(&task.id), &html! { (buttons) output.answer {} })
}
