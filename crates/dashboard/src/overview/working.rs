//! Sessions that work, or wait for something that ends by itself.

use std::time::Duration;

use belay_core::status::StatusValue;
use belay_ipc::views::{OverviewView, SessionView};
use maud::{Markup, html};

use crate::charts;
use crate::frame::Frame;
use crate::parts::{bar, element_id, session_link, since, whereabouts};
use crate::state;
use crate::text::{name, sentence};
use crate::words;

/// Calls without progress from which on a page says so.
const NOTABLE_CALLS: u64 = 5;

pub(super) fn panel(frame: &Frame<'_>, view: &OverviewView) -> Markup {
    html! {
        section.panel id="working" aria-labelledby="working-h" {
            header {
                h2 id="working-h" { "Working, or waiting by themselves" }
                small.wide { "burn: tokens per minute, last 24 min; " span.s-need { "amber" } " = since the last progress" }
            }
            @if view.active.is_empty() {
                div.body { p.muted { "No agent is working right now. Start one: " code { "belay run claude" } } }
            } @else {
                table.rows {
                    thead {
                        tr {
                            th scope="col" { "Status" } th scope="col" { "Session" } th scope="col" { "Now" }
                            th.wide scope="col" { "Burn" } th.n.mid scope="col" { "Calls" } th.n scope="col" { "Cost" }
                            th scope="col" { "Budget" } th.mid scope="col" { "Context" }
                        }
                    }
                    tbody data-stable { @for session in &view.active { (row(frame, session)) } }
                }
            }
            @if view.resting > 0 {
                footer.muted {
                    (words::pluralize(view.resting, "more session"))
                    @if view.resting == 1 { " is" } @else { " are" } " idle, unknown or ended: " code { "belay sessions" }
                }
            }
        }
    }
}

fn row(frame: &Frame<'_>, session: &SessionView) -> Markup {
    html! {
        tr id=(element_id("w", &session.session)) data-row {
            td { (state::with_time(frame, &session.status)) }
            th.all scope="row" { (session_link(session)) br; (whereabouts(session)) }
            td.all { (now(frame, session)) }
            td.wide data-l="burn" { (burn(frame, session)) }
            td.n.mid { (words::grouped(session.calls)) }
            td.n data-l="cost" {
                (words::cost(session.cost_micros, session.unpriced_micros)) br;
                " " small { (words::dollars(session.cost_per_hour_micros)) "/h" }
            }
            td data-l="budget" { (budget(session)) }
            td.mid data-l="context" { (context(session)) }
        }
    }
}

fn now(frame: &Frame<'_>, session: &SessionView) -> Markup {
    let status = &session.status;
    match (status.value, &session.waiting, &session.newest_call) {
        (StatusValue::Limited, ..) => html! {
            div.cut.now { (sentence(&status.why)) }
            small { @match status.until {
                Some(end) => { "resumes by itself at " (words::moment(end, frame.now, frame.zone)) }
                None => { "until the provider lifts it" }
            } }
        },
        (StatusValue::Waiting, Some(wait), _) => html! {
            div.cut.now { code { (sentence(&wait.what)) } }
            small {
                "declared"
                @if let Some(end) = wait.until { ", at most until " (words::moment(end, frame.now, frame.zone)) }
            }
        },
        (_, _, Some(call)) => html! {
            div.cut.now { code { (sentence(words::action(&call.what))) } }
            small {
                @if call.running { "running for " (since(frame, call.at)) } @else { (since(frame, call.at)) " ago" }
                "; " (progress(frame, session))
            }
        },
        _ => html! { div.cut.now { (sentence(&status.why)) } },
    }
}

fn progress(frame: &Frame<'_>, session: &SessionView) -> Markup {
    let since_progress = &session.since_progress;
    if since_progress.sum.calls >= NOTABLE_CALLS {
        html! { "no progress for " (words::pluralize(since_progress.sum.calls, "call")) }
    } else {
        html! { "progress " (since(frame, since_progress.at)) " ago" }
    }
}

fn burn(frame: &Frame<'_>, session: &SessionView) -> Markup {
    let silent = frame.now.saturating_since(session.since_progress.at);
    let hot = match session.since_progress.sum.calls >= NOTABLE_CALLS {
        true => usize::try_from(silent.as_secs().div_ceil(60)).unwrap_or(usize::MAX),
        false => 0,
    };
    let total: u64 = session.burn.iter().sum();
    let mut label = format!("Burn, last 24 minutes: {} tokens", words::tokens(total));
    if hot > 0 {
        let minutes = Duration::from_secs(hot.min(24) as u64 * 60);
        label.push_str(&format!(", the last {} without progress", words::duration(minutes)));
    }
    charts::sparkline(&session.burn, hot, &label)
}

fn budget(session: &SessionView) -> Markup {
    let Some(percent) = session.budget_percent() else { return html! { small { "none" } } };
    let of = match (session.limits.cost_micros, session.limits.tokens) {
        (Some(cost), _) => words::round_dollars(cost),
        (None, Some(tokens)) => format!("{} tokens", words::tokens(tokens)),
        (None, None) => return html! { small { "none" } },
    };
    html! {
        div.meter { (percent) " % " small { "of " (name(&of)) } (bar(percent, &format!("{percent} % of the budget of {of} used"))) }
    }
}

fn context(session: &SessionView) -> Markup {
    match session.context_percent {
        Some(percent) => html! { div.meter { (percent) " %" (bar(percent, &format!("context {percent} % full"))) } },
        None => html! { small { "unknown" } },
    }
}
