//! Buttons and dialogs that decide about a task.

use belay_ipc::views::{ReviewPhase, ReviewSummaryView};
use maud::{Markup, html};

use super::decisions_url;
use crate::decide::{close, dialog};
use crate::forms::{Ask, ask_about};
use crate::frame::Frame;
use crate::text::name;
use crate::words;

/// Dialogs of the pages, by id.
const RESUME: &str = "ask-review-resume";
const SEND_BACK: &str = "ask-review-fix";
const ANSWER: &str = "ask-review-answer";
const WAIVE: &str = "ask-review-waive";

/// Rounds that a task without rounds left probably gets.
const MORE_ROUNDS: u32 = 3;

/// The limits that a person would probably set next.
pub(crate) struct NextLimits {
    pub(crate) rounds: String,
    /// Empty if the task has no such budget.
    pub(crate) dollars: String,
    /// Empty if the task has no such budget.
    pub(crate) tokens: String,
}

pub(crate) fn next_limits(task: &ReviewSummaryView) -> NextLimits {
    let used_up = task.round >= task.max_rounds;
    let rounds = if used_up { task.max_rounds.saturating_add(MORE_ROUNDS) } else { task.max_rounds };
    let (next_micros, next_tokens) = next_budget(task);
    NextLimits {
        rounds: rounds.to_string(),
        dollars: next_micros.or(task.budget_micros).map(dollars).unwrap_or_default(),
        tokens: next_tokens.or(task.budget_tokens).map(|tokens| tokens.to_string()).unwrap_or_default(),
    }
}

/// Budgets that are used up or nearly so, doubled as often as it takes to be above what was spent: in millionths of a US
/// dollar, and in tokens.
pub(crate) fn next_budget(task: &ReviewSummaryView) -> (Option<u64>, Option<u64>) {
    let next = |limit: Option<u64>, used: u64, least: u64| {
        let limit = limit.filter(|limit| used.saturating_mul(10) >= limit.saturating_mul(9))?;
        // Twice a budget of nothing is still nothing.
        let mut next = if limit == 0 { least } else { limit.saturating_mul(2) };
        while next <= used.saturating_add(used / 10) && next < u64::MAX {
            next = next.saturating_mul(2);
        }
        Some(next)
    };
    (next(task.budget_micros, task.cost_micros, 1_000_000), next(task.budget_tokens, task.tokens, 100_000))
}

/// An amount as a field takes it: "7.5".
pub(crate) fn dollars(micros: u64) -> String {
    format!("{}", micros as f64 / 1e6)
}

fn about<'a>(
    dialog: &'a str,
    action: &'a str,
    task: &'a ReviewSummaryView,
    fields: &'a [(&'a str, &'a str)],
) -> Ask<'a> {
    Ask { dialog, action, short: &task.id, title: &task.title, fields }
}

/// Asks how many rounds and how much money a task gets, and resumes it.
pub(crate) fn resume(task: &ReviewSummaryView, label: &str) -> Markup {
    let next = next_limits(task);
    let fields = [("rounds", &*next.rounds), ("dollars", &*next.dollars), ("tokens", &*next.tokens)];
    ask_about("", &about(RESUME, &decisions_url(&task.id), task, &fields), label)
}

/// Asks what to fix.
pub(crate) fn send_back(task: &ReviewSummaryView, class: &str) -> Markup {
    ask_about(class, &about(SEND_BACK, &decisions_url(&task.id), task, &[]), "What to fix…")
}

/// What is asked before a person accepts the result.
pub(crate) fn accept_question(task: &ReviewSummaryView) -> String {
    match task.open_issues {
        0 => "Accept the result as done? The reviewers have not agreed yet.".to_owned(),
        _ => format!("Accept the result as done{}?", with_open_issues(task)),
    }
}

/// What a question about a result adds if a person accepts issues with it.
fn with_open_issues(task: &ReviewSummaryView) -> String {
    match task.open_issues {
        0 => String::new(),
        open => format!(", with {}", words::pluralize(open.into(), "open issue")),
    }
}

/// Ends a task that cannot go on by itself, after a question.
pub(crate) fn give_up() -> Markup {
    let question = "Cancel this task? Its files stay as they are, and you can resume it later.";
    html! { button.bad name="decision" value="cancel" data-key="K" data-confirm=(question) { "Cancel…" } }
}

/// Asks whether a person accepts the work of a running task. Only a task that has ended can be sent back.
pub(crate) fn answer(task: &ReviewSummaryView) -> Markup {
    ask_about("", &about(ANSWER, &decisions_url(&task.id), task, &[]), "Answer…")
}

/// Asks why an issue is not to be fixed.
pub(crate) fn waive(task: &ReviewSummaryView, issue: &str, claim: &str) -> Markup {
    let action = decisions_url(&task.id);
    let fields = [("issue", issue)];
    let ask = Ask { title: claim, ..about(WAIVE, &action, task, &fields) };
    ask_about("", &ask, "Waive…")
}

/// Stops a task, after a question.
pub(crate) fn cancel(task: &ReviewSummaryView) -> Markup {
    let question = match task.phase {
        ReviewPhase::Queued => "Cancel this task? Nothing of it has run yet.",
        _ => "Cancel this task? Its agent is stopped. Its files stay as they are, and you can resume the task later.",
    };
    html! { button.bad name="decision" value="cancel" data-confirm=(question) { "Cancel…" } }
}

/// Merges the result, after a question.
pub(crate) fn land(frame: &Frame<'_>, task: &ReviewSummaryView, class: &str) -> Markup {
    let project_dir = name(&frame.path(&task.project_dir)).to_text();
    let open = with_open_issues(task);
    let question = format!(
        "Merge the result into {project_dir}{open}? If it conflicts, nothing is changed and the conflict is explained."
    );
    html! { button class=[(!class.is_empty()).then_some(class)] name="decision" value="land" data-confirm=(question) { "Land…" } }
}

/// Changes the files of the project without a commit, after a question.
pub(crate) fn apply(frame: &Frame<'_>, task: &ReviewSummaryView) -> Markup {
    let project_dir = name(&frame.path(&task.project_dir)).to_text();
    let open = with_open_issues(task);
    let question = format!(
        "Change the files in {project_dir} without a commit{open}? If they conflict, nothing is changed and the conflict is explained."
    );
    html! { button name="decision" value="land_apply" data-confirm=(question) { "Apply without a commit…" } }
}

/// Keeps the result as a branch, after a question.
pub(crate) fn archive() -> Markup {
    let question = "Archive this task? Its result stays as a branch; its worktree is removed.";
    html! { button name="decision" value="archive" data-confirm=(question) { "Archive…" } }
}

/// Rounds, money and, where they are limited, tokens of a resume.
pub(crate) fn resume_fields(next: &NextLimits, with_tokens: bool) -> Markup {
    html! {
        div.row {
            label.row { "Total rounds " input.short type="number" name="rounds" min="1" max="100" required value=(next.rounds); }
            label.row { "Total budget (US dollars) " input.short type="number" name="dollars" min="0" step="any" value=(next.dollars) placeholder="none"; }
            @if with_tokens {
                label.row { "Total budget (tokens) " input.tokens type="number" name="tokens" min="1" step="1" value=(next.tokens) placeholder="none"; }
            }
        }
    }
}

/// What the builder is told. Required, because an answer without it would say nothing.
pub(crate) fn fix_field() -> Markup {
    html! {
        label {
            b { "What to fix" }
            textarea name="fix" rows="3" maxlength="8000" required placeholder="What is wrong, and where" {}
        }
    }
}

/// The dialogs of lists.
pub(crate) fn list_dialogs(frame: &Frame<'_>) -> Markup {
    let empty = NextLimits { rounds: String::new(), dollars: String::new(), tokens: String::new() };
    html! {
        (dialog(frame, RESUME, "Resume", "review resume", &html! {
            p { "The task continues at the step where it stopped." }
            (resume_fields(&empty, true))
            div.acts { button.main name="decision" value="resume" { "Resume" } (close("Leave it")) }
        }))
        (dialog(frame, SEND_BACK, "Send back", "review answer", &html! {
            p { "The builder gets this as an issue and starts another round. Reviewers check it like their own." }
            input type="hidden" name="decision" value="answer";
            // `assets/mirror.js` writes the command; without text, an answer would accept the work.
            input type="hidden" name="sends_back" value="true";
            (fix_field())
            div.acts { button.main { "Send it back" } (close("Leave it")) }
        }))
    }
}

/// The dialogs of a task's page.
pub(crate) fn task_dialogs(frame: &Frame<'_>) -> Markup {
    html! {
        (list_dialogs(frame))
        (dialog(frame, ANSWER, "Your verdict on", "review answer", &html! {
            p { "Accepting ends the task and stops the running step." }
            input type="hidden" name="decision" value="answer";
            div.acts { button.main name="done" value="true" { "Accept as done" } (close("Leave it")) }
        }))
        (dialog(frame, WAIVE, "Waive", "review waive", &html! {
            p { "The issue stays in the ledger but no longer has to be fixed." }
            input type="hidden" name="issue";
            label {
                b { "Why" }
                textarea name="why" rows="2" maxlength="2000" required placeholder="out of scope: the importer is replaced next month" {}
            }
            div.acts { button.main name="decision" value="waive" { "Waive" } (close("Keep it open")) }
        }))
    }
}
