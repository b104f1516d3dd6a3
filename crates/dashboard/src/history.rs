//! History: audits of past sessions, and what a setting would have done on them.

use maud::{Markup, html};

use crate::forms::form;
use crate::frame::{Frame, Live, NAV, Page, PageView};
use crate::model::{AuditLine, AuditProgress, HistoryPage, SettingTrial, TrialOutcome};
use crate::parts::{command, moment, panel, path_segment, session_url, since, small};
use crate::text::{name, sentence, shell_word};
use crate::words;

const AUDITS: &str = "audits";
const TRY: &str = "try";
const TRIED: &str = "tried";

impl PageView for HistoryPage {
    fn place(&self) -> Page {
        Page::History
    }

    fn page(&self, frame: &Frame<'_>) -> Markup {
        let live = Live { at_once: &[NAV, AUDITS, TRIED], ..Live::default() };
        frame.document("History", live, &html! {
            div.title { h1 { "History" } small { "What Belay would have said about the sessions you already had. Nothing is changed." } }
            (audits(frame, self))
            (try_setting(frame, self))
        })
    }

    fn part(&self, frame: &Frame<'_>, id: &str) -> Option<Markup> {
        match id {
            AUDITS => Some(audits(frame, self)),
            TRY => Some(try_setting(frame, self)),
            TRIED => Some(tried_setting(frame, self)),
            _ => None,
        }
    }
}

fn audits(frame: &Frame<'_>, view: &HistoryPage) -> Markup {
    panel(
        AUDITS,
        "Audits",
        small("from the transcripts your agents left"),
        &html! {
            div.body {
                @match &view.running {
                    Some(progress) => { (running(frame, progress)) }
                    None => { (start(frame)) }
                }
            }
            @if view.audits.is_empty() {
                div.body { p.muted { "No audit yet. An audit replays the session files that your agents left on this machine, and lists the loops in them and what they cost." } }
            } @else {
                table.rows {
                    thead { tr {
                        th scope="col" { "When" } th scope="col" { "Scope" } th.n scope="col" { "Sessions" } th.n.mid scope="col" { "Calls" }
                        th.n scope="col" { "Cost" } th.n scope="col" { "Loops" } th.n scope="col" { "Spent in loops" } th scope="col" { span.sr { "Report" } }
                    } }
                    tbody { @for audit in &view.audits { (line(frame, audit)) } }
                }
            }
        },
    )
}

fn start(frame: &Frame<'_>) -> Markup {
    html! {
        (form(frame, "acts", "/history/audits", &html! {
            label.row {
                "Sessions of the last "
                select name="days" {
                    option value="7" { "7 days" } option value="30" selected { "30 days" } option value="90" { "90 days" } option value="" { "any time" }
                }
            }
            button.main { "Start the audit" }
            output.answer {}
        }))
        (command("belay audit --since 30d"))
    }
}

fn running(frame: &Frame<'_>, progress: &AuditProgress) -> Markup {
    let percent = progress.total.filter(|total| *total > 0).map(|total| progress.done.saturating_mul(100) / total);
    let percent = percent.and_then(|percent| u32::try_from(percent.min(100)).ok());
    html! {
        div.row role="status" {
            p {
                b { "Reading " (name(&progress.scope)) } ": " (words::grouped(progress.done))
                @match progress.total { Some(total) => { " of " (words::pluralize(total, "session")) } None => { " sessions so far" } }
                ", " (since(frame, progress.started_at))
            }
            (form(frame, "acts end", &format!("/history/audits/{}/cancel", path_segment(&progress.id)), &html! { button { "Cancel" } output.answer {} }))
        }
        @if let Some(percent) = percent {
            svg.bar viewBox="0 0 100 4" preserveAspectRatio="none" role="progressbar" aria-label="Progress of the audit"
                aria-valuenow=(percent) aria-valuemin="0" aria-valuemax="100" { rect width=(percent) height="4" {} }
        }
    }
}

fn line(frame: &Frame<'_>, audit: &AuditLine) -> Markup {
    html! {
        tr {
            td { (moment(frame, audit.at)) }
            th.all scope="row" { (name(&audit.scope)) @if let Some(error) = &audit.error { br; small.s-fail { "Failed: " (sentence(error)) } } }
            td.n data-l="sessions" { (words::grouped(audit.sessions)) }
            td.n.mid data-l="calls" { (words::grouped(audit.calls)) }
            td.n data-l="cost" { (words::dollars(audit.cost_micros)) }
            td.n data-l="loops" { (words::grouped(audit.loops)) }
            td.n data-l="in loops" { (words::dollars(audit.wasted_micros)) }
            td.n { @if audit.error.is_none() { a.button href={ "/history/audits/" (path_segment(&audit.id)) } { "Report" } } }
        }
    }
}

fn try_setting(frame: &Frame<'_>, view: &HistoryPage) -> Markup {
    let tried = view.trial.as_ref();
    let selected = view.selected.as_deref().or(tried.map(|trial| trial.key.as_str()));
    panel(
        TRY,
        "What would this setting have done?",
        small("replayed on your past sessions, before you save it"),
        &html! {
            div.body {
                @if let Some(key) = &view.not_tried {
                    p.s-need { code { (name(key)) } " cannot be tried: it does not change what Belay detects. Choose one of the settings below." }
                }
                (form(frame, "acts", "/history/try", &html! {
                    label.row {
                        "Setting "
                        select name="key" { @for (key, current) in &view.keys {
                            option value=(key) selected[selected == Some(key.as_str())] { (name(key)) " (now " (name(current)) ")" }
                        } }
                    }
                    label.row { "with the value " input name="value" required autocomplete="off" value=[tried.map(|trial| &trial.value)]; }
                    button { "Try it" }
                    output.answer {}
                }))
                (tried_setting(frame, view))
            }
        },
    )
}

/// The result apart from the form, so that it can change while a person types.
fn tried_setting(frame: &Frame<'_>, view: &HistoryPage) -> Markup {
    html! { div id=(TRIED) { @if let Some(trial) = &view.trial { (outcome(frame, trial)) } } }
}

fn outcome(frame: &Frame<'_>, trial: &SettingTrial) -> Markup {
    let column = |outcome: &TrialOutcome| {
        [words::grouped(outcome.nudges), words::grouped(outcome.pauses), words::dollars(outcome.wasted_micros)]
    };
    let (before, after) = (column(&trial.before), column(&trial.after));
    html! {
        table.narrow {
            thead { tr {
                th scope="col" { (words::pluralize(trial.sessions, "session")) }
                th.n scope="col" { "now: " (name(&trial.current)) } th.n scope="col" { "with " (name(&trial.value)) }
            } }
            tbody {
                @for (label, (before, after)) in ["Sessions nudged", "Sessions paused", "Spent in loops after the nudge"].into_iter().zip(before.iter().zip(&after)) {
                    tr { th scope="row" { (label) } td.n { (before) } td.n { b { (after) } } }
                }
            }
        }
        @if trial.differences.is_empty() {
            p.muted { "No session would have gone differently." }
        } @else {
            h3 { "Sessions that differ" }
            ul.stack { @for (session, title, what) in &trial.differences {
                li {
                    @if session.is_empty() { (name(title)) } @else { a.link href=(session_url(session)) { (name(title)) } }
                    " " small { (sentence(what)) }
                }
            } }
        }
        (form(frame, "acts", "/settings", &html! {
            input type="hidden" name="key" value=(trial.key);
            input type="hidden" name="value" value=(trial.value);
            button.main { "Save this value" }
            output.answer {}
        }))
        (command(&format!("belay config set {} {}", shell_word(&trial.key), shell_word(&trial.value))))
    }
}
