//! The selected incident.

use belay_core::effect::InterventionLevel;
use belay_ipc::views::IncidentView;
use maud::{Markup, html};

use crate::decide::mirror;
use crate::forms::{ask, decision, decisions_url, form};
use crate::frame::Frame;
use crate::icons::icon;
use crate::model::{HappenedKind, HappenedLine, IncidentDetail, IncidentsPage};
use crate::parts::{moment, session_url};
use crate::picture::mini::{self, Shape};
use crate::state;
use crate::text::{name, prose, sentence, shell_word};
use crate::words;

pub(super) fn panel(frame: &Frame<'_>, view: &IncidentsPage) -> Markup {
    let Some(detail) = &view.selected else {
        return html! {
            section.panel id="detail" aria-labelledby="detail-h" {
                header { h2 id="detail-h" { "Nothing selected" } }
                div.body { p.muted { "Choose an incident to see its evidence and to decide." } }
            }
        };
    };
    let (incident, session) = (&detail.item.incident, &detail.item.session);
    html! {
        section.panel id="detail" aria-labelledby="detail-h" {
            header {
                h2 id="detail-h" { (name(session.title())) }
                (state::state(state::of_incident(incident), &state::since_clock(frame, incident.opened_at)))
            }
            div.body {
                p { strong { (prose(&incident.sentence)) } }
                (shape(detail))
                @if incident.closed_at.is_none() { (decide(frame, detail)) }
                @if !detail.happened.is_empty() {
                    h3 { "What happened" }
                    ol.log { @for line in &detail.happened { (happened(frame, line)) } }
                }
                p { a href=(session_url(&session.session)) { "Open the session" } }
            }
        }
    }
}

fn shape(detail: &IncidentDetail) -> Markup {
    let finding = detail.item.incident.finding.as_ref();
    let shape = Shape { calls: &detail.calls, pairs: &detail.pairs, from: detail.finding_from };
    let fact = |label: &str, value: Markup| html! { div { dt { (label) } dd { (value) } } };
    html! {
        div.row {
            @if !detail.calls.is_empty() { (mini::large(shape, 104.0)) }
            dl.facts.grow {
                @if let Some(finding) = finding {
                    (fact("Without progress", html! { (words::pluralize(finding.spent.calls, "call")) }))
                    (fact("Spent on it", html! { (words::cost(finding.spent.cost_micros, finding.spent.unpriced_micros)) }))
                }
                @if let Some(saved) = detail.saved_micros { (fact("Saved since", html! { "about " (words::dollars(saved)) })) }
                @if let Some(finding) = finding.filter(|finding| !finding.unchanged.is_empty()) {
                    (fact("Same outcome", html! { (sentence(&finding.unchanged)) }))
                }
            }
        }
    }
}

fn decide(frame: &Frame<'_>, detail: &IncidentDetail) -> Markup {
    let (incident, session) = (&detail.item.incident, &detail.item.session);
    let ask = |class: &str, dialog: &str, label: &str| {
        ask(class, dialog, &session.session, &session.short, session.title(), label)
    };
    let killed = incident.level == InterventionLevel::Kill;
    let short = shell_word(&session.short);
    let content = html! {
        @if !killed {
            div {
                label for="decide-note" { b { "Note the agent reads" } }
                textarea id="decide-note" name="note" rows="2" maxlength="4000" placeholder="What should it do differently?" {}
            }
        }
        div.acts {
            @if !killed { button.main name="decision" value="resume" data-key="r" { "Resume " kbd { "r" } } }
            @if incident.acknowledged_at.is_none() { button name="decision" value="acknowledge" data-key="a" { "Acknowledge " kbd { "a" } } }
            @if !killed {
                @if let Some(next) = detail.next_budget_micros.filter(|_| is_over_budget(incident)) {
                    input type="hidden" name="cost_micros" value=(next);
                    input type="hidden" name="resume" value="true";
                    button name="decision" value="budget" { "Raise to " (words::round_dollars(next)) }
                } @else {
                    (ask("", "ask-budget", "Raise budget…"))
                }
            }
            @if let Some(finding) = &incident.finding {
                input type="hidden" name="finding" value=(finding.id);
                (decision("", "allow", "Allow this"))
                (decision("", "reset", "Reset"))
            }
            (decision("", "archive", "Archive"))
            @if !killed { span.end { (ask("bad", "ask-kill", "Kill…")) } }
        }
        output.answer {}
    };
    html! {
        div.stack data-mirror="resume" data-short=(short) {
            (form(frame, "stack decide", &decisions_url(&session.session), &content))
            @if !killed { (mirror(&format!("belay resume {short}"))) }
        }
    }
}

fn happened(frame: &Frame<'_>, line: &HappenedLine) -> Markup {
    let (shape, class) = match line.kind {
        HappenedKind::Intervened(InterventionLevel::Notice) => ("notice", "s-rest"),
        HappenedKind::Intervened(InterventionLevel::Nudge) => ("nudge", "s-rest"),
        HappenedKind::Intervened(InterventionLevel::Pause | InterventionLevel::Kill) => ("held", "s-held"),
        HappenedKind::Person => ("person", "s-rest"),
    };
    html! { li { (moment(frame, line.at)) span.(class) { (icon(shape)) } p { (prose(&line.text)) } } }
}

/// Only a used budget is resumed by a larger one.
fn is_over_budget(incident: &IncidentView) -> bool {
    incident.finding.as_ref().is_some_and(|finding| finding.pattern == state::BUDGET_PATTERN)
}
