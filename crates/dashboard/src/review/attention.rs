//! What a person decides about a task that cannot go on by itself.

use belay_core::wait::Awaited;
use belay_ipc::views::{ReviewIssueView, ReviewPhase, ReviewView};
use maud::{Markup, html};

use super::DECIDE;
use crate::decide::mirror;
use crate::forms::form;
use crate::frame::Frame;
use crate::parts::{session_url, since};
use crate::review_task::{decide, decisions_url};
use crate::text::{exact, name, prose, sentence, shell_word};
use crate::words;

/// Open issues that are repeated here.
const LISTED_ISSUES: usize = 6;

pub(super) fn panel(frame: &Frame<'_>, view: &ReviewView) -> Markup {
    let task = &view.summary;
    let title = match (task.phase, &task.waiting) {
        (ReviewPhase::NeedsAttention, _) => "This task needs you",
        (ReviewPhase::Failed, _) => "This task failed",
        (phase, Some(Awaited::Pause { session, reason })) if !phase.has_ended() => return held(session, reason),
        // The part stays, so that it can be filled later.
        _ => return html! { div id=(DECIDE) hidden {} },
    };
    html! {
        section.panel id=(DECIDE) aria-labelledby="decide-h" {
            header { h2 id="decide-h" { (title) } small { "since " (words::moment(task.since, frame.now, frame.zone)) ", " (since(frame, task.since)) } }
            div.body.two {
                div.stack { (reason(view)) }
                div.stack { (verdict(frame, view)) (resume(frame, view)) }
            }
        }
    }
}

fn held(session: &str, reason: &str) -> Markup {
    html! {
        section.panel id=(DECIDE) aria-labelledby="decide-h" {
            header { h2 id="decide-h" { "Its session is held" } small { "the task continues when you resume the session" } }
            div.body {
                p.what { strong { (prose(reason)) } }
                p { a.button href=(session_url(session)) { "Open the session" } }
            }
        }
    }
}

fn reason(view: &ReviewView) -> Markup {
    let open: Vec<&ReviewIssueView> = view.issues.iter().filter(|issue| issue.state == "open").collect();
    html! {
        p.what { strong { (prose(&view.summary.status)) } }
        @if let Some(dispute) = &view.dispute {
            div.stack.tight {
                h3 id="dispute-h" { "The dispute" }
                pre.pane tabindex="0" aria-labelledby="dispute-h" { (exact(dispute)) }
            }
        }
        @if !open.is_empty() {
            div.stack.tight {
                h3 { (words::pluralize(open.len() as u64, "open issue")) }
                ul.stack.tight {
                    @for issue in open.iter().take(LISTED_ISSUES) {
                        li { code { (name(&issue.id)) } " " (sentence(&issue.claim)) @if let Some(place) = &issue.place { " " small.mono { (name(place)) } } }
                    }
                }
                @if open.len() > LISTED_ISSUES { p.muted { "and " (open.len() - LISTED_ISSUES) " more in the ledger" } }
            }
        }
    }
}

fn verdict(frame: &Frame<'_>, view: &ReviewView) -> Markup {
    let task = &view.summary;
    html! {
        div.stack.tight data-mirror="review answer" data-short=(name(&task.id)) {
            (form(frame, "stack tight decide", &decisions_url(&task.id), &html! {
                input type="hidden" name="decision" value="answer";
                (decide::fix_field())
                div.acts {
                    button.main { "Send it back" }
                    button name="done" value="true" formnovalidate data-confirm=(decide::accept_question(task)) { "Accept as done…" }
                }
                output.answer {}
            }))
            (mirror(&format!("belay review answer {} --done", shell_word(&task.id))))
        }
    }
}

fn resume(frame: &Frame<'_>, view: &ReviewView) -> Markup {
    let task = &view.summary;
    let next = decide::next_limits(task);
    let money = (!next.dollars.is_empty()).then(|| format!("{}usd", next.dollars));
    let amounts: Vec<String> =
        money.into_iter().chain((!next.tokens.is_empty()).then(|| format!("{}tokens", next.tokens))).collect();
    let budget = if amounts.is_empty() { String::new() } else { format!(" --budget {}", amounts.join(",")) };
    html! {
        div.stack.tight.apart data-mirror="review resume" data-short=(name(&task.id)) {
            h3 { "Or continue without a verdict" }
            (form(frame, "stack tight", &decisions_url(&task.id), &html! {
                div.row.between {
                    (decide::resume_fields(&next, !next.tokens.is_empty()))
                    button name="decision" value="resume" data-key="r" { "Resume" }
                }
                output.answer {}
            }))
            (mirror(&format!("belay review resume {} --rounds {}{budget}", shell_word(&task.id), next.rounds)))
        }
    }
}
