//! The buttons that resolve a task where it is listed: the one that ends the wait first, giving up last.

use belay_ipc::views::{ReviewAttention, ReviewPhase, ReviewSummaryView};
use maud::{Markup, html};

use super::{decide, decisions_url, review_url};
use crate::forms::form;
use crate::frame::Frame;
use crate::text::shell_word;
use crate::words;

/// What a person can do about a task that needs a decision, or whose result waits to be landed.
pub(crate) fn actions(frame: &Frame<'_>, task: &ReviewSummaryView) -> Markup {
    let buttons = match (task.phase, task.attention) {
        (ReviewPhase::Done, _) => html! {
            (decide::land(frame, task, "main"))
            @if task.round > 0 { a.button href={ (review_url(&task.id)) "?diff=" (task.round) "#diff" } { "Diff" } }
            (decide::archive())
        },
        (ReviewPhase::Failed, _) => html! { (resume("Try again")) (decide::send_back(task, "")) (decide::give_up()) },
        (_, Some(ReviewAttention::RoundsUsed)) => html! {
            input type="hidden" name="rounds" value=(task.max_rounds.saturating_add(1));
            (resume("Give it 1 more round"))
            (decide::send_back(task, ""))
            (accept(task))
            (decide::give_up())
        },
        (_, Some(ReviewAttention::BudgetUsed)) => html! {
            (raise(task))
            (decide::resume(task, "Other…"))
            (accept(task))
            (decide::give_up())
        },
        // The person has done what was asked for, outside of Belay.
        (
            _,
            Some(
                ReviewAttention::BlockedOnHuman
                | ReviewAttention::Refused
                | ReviewAttention::NoVerdict
                | ReviewAttention::TreeChanged,
            ),
        ) => html! { (resume("Resume")) (decide::send_back(task, "")) (accept(task)) (decide::give_up()) },
        (
            _,
            Some(
                ReviewAttention::Dispute
                | ReviewAttention::Reseeding
                | ReviewAttention::GateStuck
                | ReviewAttention::InstructionsChanged,
            )
            | None,
        ) => html! {
            (decide::send_back(task, "main"))
            (accept(task))
            (decide::resume(task, "Resume…"))
            (decide::give_up())
        },
    };
    let class = if matches!(task.phase, ReviewPhase::Done | ReviewPhase::Failed) { "acts" } else { "acts four" };
    form(
        frame,
        class,
        &decisions_url(&task.id),
        &html! {
            // In this form, an answer has no text: it accepts the work.
            input type="hidden" name="done" value="true";
            (buttons)
            button type="button" data-copy-text={ "belay review show " (shell_word(&task.id)) } hidden { "Copy the command" }
            output.answer {}
        },
    )
}

/// Resumes with the limits that the form names, or as before.
fn resume(label: &str) -> Markup {
    html! { button.main name="decision" value="resume" data-key="r" { (label) } }
}

/// Resumes with twice the budget that is used up.
fn raise(task: &ReviewSummaryView) -> Markup {
    let (micros, tokens) = decide::next_budget(task);
    let amounts = [micros.map(words::round_dollars), tokens.map(|tokens| format!("{} tokens", words::tokens(tokens)))];
    let label = words::list_of(&amounts.into_iter().flatten().collect::<Vec<_>>());
    html! {
        @if let Some(micros) = micros { input type="hidden" name="dollars" value=(decide::dollars(micros)); }
        @if let Some(tokens) = tokens { input type="hidden" name="tokens" value=(tokens); }
        @if !label.is_empty() { (resume(&format!("Raise to {label}"))) }
    }
}

/// Accepts the result, after a question.
fn accept(task: &ReviewSummaryView) -> Markup {
    html! { button name="decision" value="answer" data-confirm=(decide::accept_question(task)) { "Accept…" } }
}
