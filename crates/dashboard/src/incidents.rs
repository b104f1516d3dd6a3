//! Incidents: an inbox, the selected one, and who did what.

mod detail;

use maud::{Markup, html};

use crate::forms::guarded;
use crate::frame::{Frame, Live, NAV, Page, PageView};
use crate::icons::icon;
use crate::model::{DecidedIn, DecisionLine, IncidentFilter, IncidentItem, IncidentsPage};
use crate::parts::{element_id, moment, path_segment, since};
use crate::state;
use crate::text::{name, prose, sentence};
use crate::words;

const TITLE: &str = "title";
const INBOX: &str = "inbox";
const DETAIL: &str = "detail";
const LOG: &str = "who";

impl PageView for IncidentsPage {
    fn place(&self) -> Page {
        Page::Incidents
    }

    fn page(&self, frame: &Frame<'_>) -> Markup {
        let title = match self.open {
            0 => "Incidents".to_owned(),
            1 => "1 open incident".to_owned(),
            open => format!("{open} open incidents"),
        };
        let live = Live { at_once: &[NAV, TITLE, INBOX, DETAIL, LOG], ..Live::default() };
        frame.document(
            &title,
            live,
            &html! {
                (heading(self))
                div.split { (inbox(frame, self)) (detail::panel(frame, self)) }
                (log(frame, self))
            },
        )
    }

    fn part(&self, frame: &Frame<'_>, id: &str) -> Option<Markup> {
        match id {
            TITLE => Some(heading(self)),
            INBOX => Some(inbox(frame, self)),
            DETAIL => Some(detail::panel(frame, self)),
            LOG => Some(log(frame, self)),
            _ => None,
        }
    }
}

fn query(filter: IncidentFilter) -> &'static str {
    match filter {
        IncidentFilter::Open => "open",
        IncidentFilter::Acknowledged => "acknowledged",
        IncidentFilter::Closed => "closed",
    }
}

fn heading(view: &IncidentsPage) -> Markup {
    let tabs = [
        (IncidentFilter::Open, "Open", view.open),
        (IncidentFilter::Acknowledged, "Acknowledged", view.acknowledged),
        (IncidentFilter::Closed, "Closed", view.closed),
    ];
    html! {
        div.title id=(TITLE) {
            h1 { "Incidents" }
            nav.tabs aria-label="Filter incidents" {
                @for (filter, label, count) in tabs {
                    a href={ "/incidents?state=" (query(filter)) } aria-current=[(filter == view.filter).then_some("true")] {
                        (label) " " span.count { (words::grouped(count)) }
                    }
                }
            }
            p.acts.muted.hide {
                span { kbd { "j" } " " kbd { "k" } " move" } span { kbd { "x" } " select" } span { kbd { "r" } " resume" }
                span { kbd { "a" } " acknowledge" } span { kbd { "?" } " all keys" }
            }
        }
    }
}

fn inbox(frame: &Frame<'_>, view: &IncidentsPage) -> Markup {
    let empty = match view.filter {
        IncidentFilter::Open => "No open incident. Belay opens one when it pauses or kills a session.",
        IncidentFilter::Acknowledged => "No acknowledged incident.",
        IncidentFilter::Closed => "No closed incident.",
    };
    html! {
        form.panel id=(INBOX) method="post" action="/incidents/decisions" data-post aria-labelledby="inbox-h" {
            h2.sr id="inbox-h" { "Inbox" }
            (guarded(frame, &html! {
                header id="bulk" hidden {
                    b { "0 selected" }
                    span.acts {
                        button name="decision" value="acknowledge" { "Acknowledge" }
                        button name="decision" value="resume" { "Resume" }
                        button name="decision" value="archive" { "Archive" }
                        button.bad name="decision" value="kill" data-confirm="Kill the selected sessions? Their agents are stopped for good; files stay as they are." { "Kill…" }
                    }
                    output.answer {}
                }
            }))
            @if view.incidents.is_empty() { div.body { p.muted { (empty) } } }
            ol data-linger { @for item in &view.incidents { (row(frame, view, item)) } }
            @if view.filter == IncidentFilter::Open && !view.closed_today.is_empty() {
                header { h2 { "Closed today" } small { (view.closed_today.len()) } }
                ol { @for item in &view.closed_today { (row(frame, view, item)) } }
            }
        }
    }
}

fn row(frame: &Frame<'_>, view: &IncidentsPage, item: &IncidentItem) -> Markup {
    let (incident, session) = (&item.incident, &item.session);
    let look = state::of_incident(incident);
    let selected = view.selected.as_ref().is_some_and(|detail| detail.item.incident.id == incident.id);
    html! {
        li.pick id=(element_id("i", &incident.id)) data-row aria-current=[selected.then_some("true")] {
            input type="checkbox" name="incident" value=(incident.id) aria-label={ "Select " (name(session.title())) }
                disabled[incident.closed_at.is_some() || !frame.may_decide()];
            span.(look.class) { (icon(look.icon)) }
            div {
                div.row {
                    h3.cut { a href={ "/incidents?state=" (query(view.filter)) "&incident=" (path_segment(&incident.id)) "#detail" } { (name(session.title())) } }
                    small.end { @match incident.closed_at { Some(at) => { (moment(frame, at)) } None => { (since(frame, incident.opened_at)) } } }
                }
                p { (prose(&incident.sentence)) }
                small {
                    (look.word) " · " (name(words::display_name(&session.agent)))
                    @if let Some(project) = session.project_name() { " · " (name(project)) }
                    @if let Some(how) = &item.closed_how { " · " (name(how)) }
                }
            }
        }
    }
}

fn log(frame: &Frame<'_>, view: &IncidentsPage) -> Markup {
    html! {
        section.panel id=(LOG) aria-labelledby="who-h" {
            header { h2 id="who-h" { "Who did what" } small { "newest first" } }
            @if view.decisions.is_empty() {
                div.body { p.muted { "No decisions yet." } }
            } @else {
                table {
                    thead { tr {
                        th scope="col" { "Time" } th scope="col" { "Who" } th scope="col" { "What" }
                        th.mid scope="col" { "From" } th.mid scope="col" { "Effect" }
                    } }
                    tbody { @for line in &view.decisions { (decision(frame, line)) } }
                }
            }
        }
    }
}

fn decision(frame: &Frame<'_>, line: &DecisionLine) -> Markup {
    // "killed it", "set the budget of it"
    let (who, verb) = (name(&line.who).to_text(), &line.verb);
    let happened = format!("{who} {verb} it at {}", words::moment(line.at, frame.now, frame.zone));
    html! {
        tr data-about={ (line.about.page()) "/decisions" } data-happened=(happened) {
            td { (moment(frame, line.at)) }
            td { (name(&line.who)) }
            td.break {
                b { (name(&line.verb)) } " " a href=(line.about.page()) { (name(&line.title)) }
                @if !line.detail.is_empty() { ", " (sentence(&line.detail)) }
            }
            td.mid { (from(line.decided_in)) }
            td.mid { small { (sentence(&line.effect)) } }
        }
    }
}

fn from(place: DecidedIn) -> &'static str {
    match place {
        DecidedIn::Browser => "browser",
        DecidedIn::Api => "API",
        DecidedIn::CommandLine => "command line",
    }
}
