//! Findings with their evidence, and people's notes.

use belay_core::event::OperatorDecision;
use belay_ipc::views::{FindingView, SessionPageView};
use maud::{Markup, html};

use super::finding::level;
use super::footer;
use crate::frame::Frame;
use crate::icons::icon;
use crate::parts::{element_id, moment, panel, small};
use crate::text::{name, prose, sentence, shell_word};
use crate::words;

/// Findings and notes that are listed.
const LISTED: usize = 20;

/// Calls of the evidence that are listed.
const LISTED_EVIDENCE: usize = 12;

pub(super) fn panels(frame: &Frame<'_>, view: &SessionPageView) -> Markup {
    html! {
        div.two id="record" {
            (findings(frame, view))
            (notes(frame, view))
        }
    }
}

fn findings(frame: &Frame<'_>, view: &SessionPageView) -> Markup {
    let count = words::pluralize(view.session.findings, "finding");
    panel(
        "findings",
        "Findings",
        small(&count),
        &html! {
            @if view.findings.is_empty() {
                div.body { p.muted { "Belay found nothing to object to." } }
            } @else {
                div.body { ol.log { @for row in view.findings.iter().take(LISTED) { (finding(frame, row)) } } }
            }
            (footer(&format!("belay explain {}", shell_word(&view.session.short))))
        },
    )
}

fn finding(frame: &Frame<'_>, row: &FindingView) -> Markup {
    let found = &row.intervention.finding;
    let skipped = found.evidence.len().saturating_sub(LISTED_EVIDENCE);
    html! {
        li {
            (moment(frame, found.at))
            span.s-rest { (icon(level_icon(row))) }
            details id=(element_id("f", &format!("{}{}", found.id, found.at))) {
                summary { (level(row.intervention.level)) ": " (prose(&found.sentence)) }
                table { tbody {
                    @for call in &found.evidence[skipped..] {
                        tr {
                            td { (words::grouped(call.call + 1)) }
                            td.break { code { (name(&call.what)) } }
                            td.break { small { (name(&call.outcome)) } }
                        }
                    }
                } }
                @if !row.intervention.message.is_empty() { p.muted { "Message: " (sentence(&row.intervention.message)) } }
            }
        }
    }
}

fn level_icon(row: &FindingView) -> &'static str {
    use belay_core::effect::InterventionLevel as Level;
    match row.intervention.level {
        Level::Notice => "notice",
        Level::Nudge => "nudge",
        Level::Pause | Level::Kill => "held",
    }
}

fn notes(frame: &Frame<'_>, view: &SessionPageView) -> Markup {
    panel(
        "notes",
        "Decisions and notes",
        small("newest first"),
        &html! {
            @if view.notes.is_empty() {
                div.body { p.muted { "No decisions yet." } }
            } @else {
                div.body { ol.log {
                    @for note in view.notes.iter().take(LISTED) {
                        li {
                            (moment(frame, note.at))
                            span.s-rest { (icon("person")) }
                            p {
                                (name(&frame.who(note.by.as_deref()))) " " b { (note.decision.past_tense()) " it" }
                                @if !note.text.is_empty() { ": " (sentence(&note.text)) }
                            }
                        }
                    }
                } }
            }
        },
    )
}

/// "ada killed it at 14:02": the newest decision that changed what the session may do.
pub(super) fn newest_decision(frame: &Frame<'_>, view: &SessionPageView) -> Option<String> {
    let changes =
        |decision: &OperatorDecision| !matches!(decision, OperatorDecision::Note | OperatorDecision::MarkSeen);
    let note = view.notes.iter().find(|note| changes(&note.decision))?;
    let who = name(&frame.who(note.by.as_deref())).to_text();
    Some(format!("{who} {} it at {}", note.decision.past_tense(), words::moment(note.at, frame.now, frame.zone)))
}
