//! The attention list: state, reason, and the buttons that resolve it.

use belay_core::Subject;
use belay_ipc::views::{NeedKind, NeedRow, NeedView, PendingApproval};
use maud::{Markup, html};

use super::{OverviewPage, review_row};
use crate::forms::{ask, decision, decisions_url, form};
use crate::frame::Frame;
use crate::icons::icon;
use crate::model::{DecidedIn, DecisionLine};
use crate::parts::{element_id, moment, session_link, session_url, since, until, whereabouts};
use crate::picture::mini;
use crate::state;
use crate::text::{command, exact, name, prose, sentence, shell_word, spelled_out};
use crate::words;

/// Decisions that are listed below the sessions.
const LISTED_DECISIONS: usize = 4;

pub(super) fn panel(frame: &Frame<'_>, page: &OverviewPage) -> Markup {
    let rows = page.view.need_rows();
    html! {
        section.panel.needs id="needs" aria-labelledby="needs-h" {
            header { h2 id="needs-h" { "Needs you" } small { "longest wait first" } }
            // Also without rows: the last one stays until the pointer has left it.
            ol data-linger {
                @for need in &rows {
                    @match need {
                        NeedRow::Session(need) => (row(frame, need, approval_for(need, &page.approvals)))
                        NeedRow::Review(task) => (review_row::row(frame, task))
                    }
                }
            }
            @if rows.is_empty() {
                div.body { p.muted { "Nobody needs you. Sessions that ask, are held or have finished appear here, and review tasks that cannot go on by themselves, with the reason." } }
            }
            (resolved(frame, page))
        }
    }
}

/// Who resolved what in the last minutes, told in every browser. `assets/refresh.js` repeats it in a row that stays.
fn resolved(frame: &Frame<'_>, page: &OverviewPage) -> Markup {
    let needs_still = |about: &Subject| page.view.need_rows().iter().any(|row| row.key() == about.key());
    let mut lines: Vec<&DecisionLine> = Vec::new();
    for line in page.resolved.iter().filter(|line| !needs_still(&line.about)) {
        // The newest decision about something is what holds.
        if lines.len() < LISTED_DECISIONS && !lines.iter().any(|shown| shown.about == line.about) {
            lines.push(line);
        }
    }
    html! {
        @if !lines.is_empty() {
            footer {
                ul.log aria-label="Resolved in the last minutes" {
                    @for line in lines {
                        li data-resolved=(row_id(&line.about)) data-text=(words::sentence(&how(frame, line))) {
                            (moment(frame, line.at)) span.s-rest { (icon("person")) }
                            p.muted { (name(&line.who)) " " (name(&line.verb)) " " a href=(line.about.page()) { (name(&line.title)) } (place(line)) }
                        }
                    }
                }
            }
        }
    }
}

/// "resumed by ada on the command line, 14:02"
fn how(frame: &Frame<'_>, line: &DecisionLine) -> String {
    // "set the budget of", "allowed a call of"
    let verb = line.verb.strip_suffix(" of").unwrap_or(&line.verb);
    let who = name(&line.who).to_text();
    format!("{verb} by {who}{}, {}", place(line), words::moment(line.at, frame.now, frame.zone))
}

/// Id of the row that a decision resolved.
fn row_id(about: &Subject) -> String {
    match about {
        Subject::Session { session } => element_id("n", &session.to_string()),
        Subject::Review { id } => review_row::id(id),
    }
}

/// Where it was decided, unless the name tells.
fn place(line: &DecisionLine) -> &'static str {
    match line.decided_in {
        DecidedIn::Browser => "",
        DecidedIn::Api => " through the API",
        DecidedIn::CommandLine => " on the command line",
    }
}

fn approval_for<'a>(need: &NeedView, approvals: &'a [PendingApproval]) -> Option<&'a PendingApproval> {
    approvals.iter().find(|approval| need.kind == NeedKind::Permission && approval.session == need.session.session)
}

fn row(frame: &Frame<'_>, need: &NeedView, approval: Option<&PendingApproval>) -> Markup {
    let session = &need.session;
    html! {
        li id=(element_id("n", &session.session)) class=[need.acknowledged.then_some("dim")] data-row {
            p { (state::state(state::of_need(need.kind), &since(frame, need.since))) }
            div.what {
                h3 {
                    (session_link(session)) " " (whereabouts(session))
                    @if need.acknowledged { " " span.tag { "acknowledged" } }
                }
                (what(frame, need, approval))
            }
            (actions(frame, need, approval))
        }
    }
}

fn what(frame: &Frame<'_>, need: &NeedView, approval: Option<&PendingApproval>) -> Markup {
    match (need.kind, approval, need.subject.as_deref()) {
        (NeedKind::Permission, Some(approval), _) => html! {
            div.cmd.exact { code tabindex="0" { (command(&approval.text)) } }
            p.muted {
                (spelled_out(&approval.tool))
                @if let Some(dir) = &approval.cwd { " in " (spelled_out(&frame.path(dir))) }
                ". Unanswered, it goes to the terminal’s own prompt in " (until(frame, approval.until)) "."
            }
        },
        (NeedKind::Permission, None, Some(subject)) => html! {
            div.cmd.exact { code tabindex="0" { (command(subject)) } }
            p.muted { (sentence(&need.reason)) }
        },
        (NeedKind::PlanApproval, _, Some(plan)) => html! {
            p { (prose(&need.reason)) }
            details { summary { "The plan" } pre.pane tabindex="0" { (exact(plan)) } }
        },
        _ => html! { p { (prose(&need.reason)) } },
    }
}

fn actions(frame: &Frame<'_>, need: &NeedView, approval: Option<&PendingApproval>) -> Markup {
    let session = &need.session;
    let ask = |class: &str, dialog: &str, label: &str| {
        ask(class, dialog, &session.session, &session.short, session.title(), label)
    };
    let look = |label: &str| html! { a.button href=(session_url(&session.session)) { (label) } };
    let kill = || ask("bad", "ask-kill", "Kill…");
    let acknowledge = || {
        html! {
            @if !need.acknowledged { button name="decision" value="acknowledge" data-key="a" hidden { "Acknowledge" } }
        }
    };
    let buttons = match need.kind {
        NeedKind::Question | NeedKind::Dialog | NeedKind::PlanApproval => return in_terminal(need),
        NeedKind::Permission => {
            let Some(approval) = approval else { return in_terminal(need) };
            return form(
                frame,
                "acts",
                &format!("/approvals/{}", crate::parts::path_segment(&approval.id)),
                &html! {
                    input type="hidden" name="hash" value=(approval.hash);
                    button.main name="answer" value="allow" data-key="y" { "Allow once" }
                    button name="answer" value="deny" data-key="n" { "Deny" }
                    output.answer {}
                },
            );
        }
        NeedKind::Loop | NeedKind::Paused => html! {
            (mini::small(need))
            (ask("main", "ask-resume", "Resume…"))
            (look("Why"))
            (kill())
            (acknowledge())
        },
        NeedKind::OverBudget => html! {
            @if let Some(next) = need.next_budget_micros {
                input type="hidden" name="cost_micros" value=(next);
                input type="hidden" name="resume" value="true";
                button.main name="decision" value="budget" { "Raise to " (words::round_dollars(next)) }
            }
            (ask("", "ask-budget", "Other…"))
            (kill())
            (acknowledge())
        },
        NeedKind::Looping => html! {
            (mini::small(need))
            (look("Why"))
            (decision("", "pause", "Pause"))
            (kill())
        },
        NeedKind::Stalled | NeedKind::Decision => html! { (look("Look")) (kill()) },
        NeedKind::Failed | NeedKind::Finished => html! { (look("Look")) (decision("", "mark_seen", "Mark seen")) },
    };
    form(frame, "acts", &decisions_url(&session.session), &html! { (buttons) output.answer {} })
}

/// Belay cannot deliver an answer, but can tell where to give it.
fn in_terminal(need: &NeedView) -> Markup {
    let session = &need.session;
    html! {
        div.acts {
            span.muted { "Answer in its terminal" }
            @if let Some(dir) = &session.cwd {
                button type="button" data-copy-text={ "cd " (shell_word(dir)) } title=(name(dir)) { "Copy its directory" }
            }
            a.button href=(session_url(&session.session)) { "Look" }
        }
    }
}
