//! Why Belay stepped in, and the decision.

use belay_core::Finding;
use belay_core::effect::InterventionLevel;
use belay_core::session::StateName;
use belay_core::status::StatusValue;
use belay_ipc::views::SessionPageView;
use maud::{Markup, html};

use crate::decide::{mirror, resume_fields};
use crate::forms::{ask, decision, decisions_url, form};
use crate::frame::Frame;
use crate::picture::key;
use crate::text::{name, prose, sentence, shell_word};
use crate::words;

/// Interventions that "done so far" lists.
const LISTED_INTERVENTIONS: usize = 8;

/// Different calls of the evidence that are listed.
const LISTED_CALLS: usize = 6;

pub(super) fn panel(frame: &Frame<'_>, view: &SessionPageView) -> Markup {
    let open = view.incident.as_ref().and_then(|incident| incident.finding.as_ref());
    // Without an open incident, the newest finding is worth showing while the session goes on.
    let newest = view.findings.first().map(|row| &row.intervention.finding);
    let running = !matches!(view.session.status.value, StatusValue::Ended | StatusValue::Idle | StatusValue::Finished);
    match open.or(newest.filter(|_| running && view.incident.is_none())) {
        Some(finding) => with_finding(frame, view, finding),
        None => without_finding(frame, view),
    }
}

fn with_finding(frame: &Frame<'_>, view: &SessionPageView, finding: &Finding) -> Markup {
    let rows = view.picture.rows.iter().filter(|row| row.in_finding).count();
    html! {
        section.panel id="finding" aria-labelledby="finding-h" {
            header {
                h2 id="finding-h" { @if view.incident.is_some() { "Why Belay stepped in" } @else { "What Belay noticed" } }
                span.row {
                    span.tag { (name(&kind(finding, rows))) }
                    small { code { (name(&finding.id)) } }
                }
            }
            div.body.two {
                div.stack {
                    p { strong { (prose(&finding.sentence)) } }
                    (evidence(frame, view, finding))
                }
                (decide(frame, view, Some(finding)))
            }
        }
    }
}

/// "cycle of 3", or the pattern in words.
fn kind(finding: &Finding, rows: usize) -> String {
    match rows {
        0 | 1 => finding.pattern.replace('_', " "),
        rows => format!("cycle of {rows}"),
    }
}

fn evidence(frame: &Frame<'_>, view: &SessionPageView, finding: &Finding) -> Markup {
    let time = std::time::Duration::from_millis(finding.spent.millis);
    let spent = &finding.spent;
    html! {
        table { tbody {
            tr { th scope="row" { "Same action" } td { (actions(view, finding)) } }
            @if !finding.unchanged.is_empty() { tr { th scope="row" { "Same outcome" } td { (sentence(&finding.unchanged)) } } }
            tr {
                th scope="row" { "No progress" }
                td {
                    (words::pluralize(spent.calls, "call")) ", " (words::duration(time)) ", "
                    (words::tokens(spent.usage.total())) " tokens, " (words::cost(spent.cost_micros, spent.unpriced_micros))
                    " since call " (words::grouped(finding.from_call + 1)) "."
                    @if !finding.progress_would_be.is_empty() { " Progress would have been: " (sentence(&finding.progress_would_be)) }
                }
            }
            @if !view.findings.is_empty() { tr { th scope="row" { "Done so far" } td { (interventions(frame, view)) } } }
        } }
    }
}

fn actions(view: &SessionPageView, finding: &Finding) -> Markup {
    let rows: Vec<_> = view.picture.rows.iter().filter(|row| row.in_finding).take(LISTED_CALLS).collect();
    let mut calls: Vec<&str> = Vec::new();
    for call in &finding.evidence {
        if calls.len() < LISTED_CALLS && !calls.contains(&call.what.as_str()) {
            calls.push(&call.what);
        }
    }
    html! {
        @if rows.is_empty() {
            @for (index, what) in calls.iter().enumerate() { @if index > 0 { " · " } code { (name(what)) } }
        } @else {
            @for (index, row) in rows.iter().enumerate() {
                @if index > 0 { " · " }
                (key(index)) " " code { (name(&row.what)) } " " small { (name(&row.outcome)) }
            }
        }
    }
}

fn interventions(frame: &Frame<'_>, view: &SessionPageView) -> Markup {
    let newest: Vec<_> = view.findings.iter().take(LISTED_INTERVENTIONS).collect();
    html! {
        @for (index, row) in newest.iter().rev().enumerate() {
            @if index > 0 { ", " }
            (level(row.intervention.level)) " " (words::moment(row.intervention.finding.at, frame.now, frame.zone))
            @if row.intervention.dry_run { " (dry run)" }
        }
    }
}

pub(super) fn level(level: InterventionLevel) -> &'static str {
    match level {
        InterventionLevel::Notice => "notice",
        InterventionLevel::Nudge => "nudge",
        InterventionLevel::Pause => "pause",
        InterventionLevel::Kill => "kill",
    }
}

fn without_finding(frame: &Frame<'_>, view: &SessionPageView) -> Markup {
    let (session, incident) = (&view.session, view.incident.as_ref());
    let why = incident.map_or(session.status.why.as_str(), |incident| &incident.sentence);
    html! {
        section.panel id="finding" aria-labelledby="finding-h" {
            header { h2 id="finding-h" { "What it is doing" } }
            div.body.two {
                div.stack {
                    p { strong { (prose(why)) } }
                    table { tbody {
                        @if let Some(call) = &session.newest_call {
                            tr { th scope="row" { "Newest call" } td { code { (sentence(words::action(&call.what))) } } }
                        }
                        tr {
                            th scope="row" { "Since progress" }
                            td {
                                (words::pluralize(session.since_progress.sum.calls, "call")) ", "
                                (words::tokens(session.since_progress.sum.tokens)) " tokens, "
                                (words::cost(session.since_progress.sum.cost_micros, session.since_progress.sum.unpriced_micros))
                                " since " (words::moment(session.since_progress.at, frame.now, frame.zone))
                            }
                        }
                        tr {
                            th scope="row" { "How we know" }
                            td { (name(&session.status.evidence)) " since " (words::moment(session.status.since, frame.now, frame.zone)) "; " code { "belay explain " (shell_word(&session.short)) } }
                        }
                    } }
                }
                (decide(frame, view, None))
            }
        }
    }
}

fn decide(frame: &Frame<'_>, view: &SessionPageView, finding: Option<&Finding>) -> Markup {
    let session = &view.session;
    let ask = |class: &str, dialog: &str, label: &str| {
        ask(class, dialog, &session.session, &session.short, session.title(), label)
    };
    let killed = session.state == StateName::Killed;
    let held = session.held.is_some() && !killed;
    let short = shell_word(&session.short);
    let verb = if held { "resume" } else { "pause" };
    let acknowledged = view.incident.as_ref().is_none_or(|incident| incident.acknowledged_at.is_some());
    let content = html! {
        @if held { (resume_fields("decide")) }
        @else if !killed {
            div {
                label for="decide-note" { b { "Note for the record" } }
                textarea id="decide-note" name="note" rows="2" maxlength="4000" placeholder="Why?" {}
            }
        }
        div.acts {
            @if held {
                button.main name="decision" value="resume" data-key="r" { "Resume " kbd { "r" } }
                @if !acknowledged { button name="decision" value="acknowledge" data-key="a" { "Acknowledge " kbd { "a" } } }
            } @else if !killed {
                button name="decision" value="pause" { "Pause" }
            }
            @if !killed { (ask("", "ask-budget", if held { "Raise budget…" } else { "Budget…" })) }
            @if let Some(finding) = finding {
                input type="hidden" name="finding" value=(finding.id);
                button name="decision" value="allow" title="This pair of action and outcome never counts again in this session" { "Allow this" }
            }
            @if finding.is_some() { button name="decision" value="reset" title="Forget the evidence; the log stays" { "Reset" } }
            (decision("", "archive", "Archive"))
            @if !killed { span.end { (ask("bad", "ask-kill", "Kill…")) } }
        }
        output.answer {}
    };
    html! {
        div.stack {
            @if killed { p { "Killed for good. The next session in this project is told why." } }
            div.stack data-mirror=(verb) data-short=(short) {
                (form(frame, "stack decide", &decisions_url(&session.session), &content))
                @if !killed { (mirror(&format!("belay {verb} {short}"))) }
            }
        }
    }
}
