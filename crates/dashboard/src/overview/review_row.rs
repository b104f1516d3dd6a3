//! A review task in the attention list.

use belay_ipc::views::{NeedKind, ReviewAttention, ReviewPhase, ReviewSummaryView};
use maud::{Markup, html};

use crate::frame::Frame;
use crate::parts::{element_id, since};
use crate::review_task::{agent, agents, figures, resolve, review_url};
use crate::state::{self, Look};
use crate::text::{name, prose};

/// Id of the row of a task.
pub(super) fn id(task: &str) -> String {
    element_id("r", task)
}

pub(super) fn row(frame: &Frame<'_>, task: &ReviewSummaryView) -> Markup {
    html! {
        li id=(id(&task.id)) data-row {
            p { (state::state(look(task), &since(frame, task.since))) }
            div.what {
                h3 { a href=(review_url(&task.id)) { (name(&task.title)) } " " (whereabouts(task)) }
                p { (prose(&task.status)) " " small { (figures(task)) } }
            }
            (resolve::actions(frame, task))
        }
    }
}

/// "Review · billing-api · Claude Code, reviewed by Codex"
fn whereabouts(task: &ReviewSummaryView) -> Markup {
    let project = task.project_dir.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    html! {
        small {
            "Review · "
            @if !project.is_empty() { (name(project)) " · " }
            (name(&agent(&task.builder)))
            @if !task.reviewers.is_empty() { ", reviewed by " (name(&agents(&task.reviewers))) }
        }
    }
}

/// What is needed, in a word or two.
fn look(task: &ReviewSummaryView) -> Look {
    let person = |word: &'static str| Look { icon: "person", class: "s-need", word };
    match (task.phase, task.attention) {
        (ReviewPhase::Done, _) => state::of_need(NeedKind::Finished),
        (ReviewPhase::Failed, _) => state::of_need(NeedKind::Failed),
        (_, Some(ReviewAttention::BudgetUsed)) => state::of_need(NeedKind::OverBudget),
        (_, Some(ReviewAttention::RoundsUsed)) => person("Out of rounds"),
        (_, Some(ReviewAttention::BlockedOnHuman)) => person("Blocked"),
        (_, Some(ReviewAttention::Dispute)) => person("Dispute"),
        (_, Some(ReviewAttention::Reseeding)) => state::of_need(NeedKind::Looping),
        (_, Some(ReviewAttention::GateStuck)) => person("Gate fails"),
        (_, Some(ReviewAttention::NoVerdict)) => person("No verdict"),
        (_, Some(ReviewAttention::TreeChanged)) => person("Files changed"),
        (_, Some(ReviewAttention::InstructionsChanged)) => person("Instructions changed"),
        (_, Some(ReviewAttention::Refused)) => person("Cannot run"),
        (_, None) => state::of_need(NeedKind::Decision),
    }
}
