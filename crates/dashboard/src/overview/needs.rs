//! The attention list: state, reason, and the buttons that resolve it.

use belay_ipc::views::{NeedKind, NeedView, OverviewView, PendingApproval};
use maud::{Markup, html};

use crate::forms::{ask, decision, decisions_url, form};
use crate::frame::Frame;
use crate::parts::{element_id, session_link, session_url, since, until, whereabouts};
use crate::picture::mini;
use crate::state;
use crate::text::{exact, name, sentence, shell_word};
use crate::words;

pub(super) fn panel(frame: &Frame<'_>, view: &OverviewView, approvals: &[PendingApproval]) -> Markup {
    html! {
        section.panel.needs id="needs" aria-labelledby="needs-h" {
            header { h2 id="needs-h" { "Needs you" } small { "longest wait first" } }
            @if view.needs.is_empty() {
                div.body { p.muted { "Nobody needs you. Sessions that ask, are held or have finished appear here, with the reason." } }
            } @else {
                ol data-linger {
                    @for need in &view.needs { (row(frame, need, approval_for(need, approvals))) }
                }
            }
        }
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
            div.cmd.exact { code tabindex="0" { (exact(&approval.text)) } }
            p.muted {
                (name(&approval.tool))
                @if let Some(folder) = &need.session.cwd { " in " (name(folder)) }
                ". Unanswered, it goes to the terminal’s own prompt in " (until(frame, approval.until)) "."
            }
        },
        (NeedKind::Permission, None, Some(subject)) => html! {
            div.cmd.exact { code tabindex="0" { (exact(subject)) } }
            p.muted { (sentence(&need.reason)) }
        },
        (NeedKind::PlanApproval, _, Some(plan)) => html! {
            p { (sentence(&need.reason)) }
            details { summary { "The plan" } pre.pane tabindex="0" { (exact(plan)) } }
        },
        _ => html! { p { (sentence(&need.reason)) } },
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
        NeedKind::Stalled => html! { (look("Look")) (kill()) },
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
            @if let Some(folder) = &session.cwd {
                button type="button" data-copy-text={ "cd " (shell_word(folder)) } title=(name(folder)) { "Copy its folder" }
            }
            a.button href=(session_url(&session.session)) { "Look" }
        }
    }
}
