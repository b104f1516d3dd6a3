//! What today cost, what holds avoided, and the accounts' quotas.

use belay_ipc::views::{OverviewView, QuotaView, TodayView};
use maud::{Markup, html};

use crate::charts::{Bar, bars};
use crate::frame::Frame;
use crate::parts::{bar, moment, panel, session_url, small};
use crate::text::name;
use crate::words;

/// Agents that are listed one by one; the rest is one line.
const LISTED_AGENTS: usize = 3;

/// Loops that are listed.
const LISTED_LOOPS: usize = 4;

/// Percent from which a quota counts as used up.
const USED_UP: f32 = 99.5;

pub(super) fn panels(frame: &Frame<'_>, view: &OverviewView) -> Markup {
    let today = &view.today;
    html! {
        div.three id="today" {
            (panel("spent", "Spent today", html! { a.link.muted href="/spend" { "Spend" } }, &spent(today)))
            (panel("waste", "Waste avoided today", small("estimate"), &avoided(today)))
            (panel("quota", "Quota", small("as the providers last said"), &quotas(frame, today)))
        }
    }
}

/// "$57.30 today, about $11.60 saved; Claude opus limited until 15:10"
pub(super) fn in_one_line(frame: &Frame<'_>, view: &OverviewView) -> Markup {
    let today = &view.today;
    let limited = today.quotas.iter().find(|quota| quota.used_percent >= USED_UP);
    html! {
        (words::cost(today.spent.cost_micros, today.spent.unpriced_micros)) " today"
        @if today.avoided.cost_micros > 0 { ", about " (words::dollars(today.avoided.cost_micros)) " saved" }
        @if let Some(quota) = limited {
            "; " (name(&quota.account)) " limited"
            @if let Some(reset) = quota.resets_at { " until " (words::moment(reset, frame.now, frame.zone)) }
        }
    }
}

fn spent(today: &TodayView) -> Markup {
    let hours: Vec<Bar> = today
        .by_hour
        .iter()
        .take(25)
        .enumerate()
        .map(|(hour, micros)| Bar {
            value: *micros,
            tick: (hour % 6 == 0).then(|| format!("{hour}:00")),
            title: format!("{hour}:00 to {}:00: {}", hour + 1, words::dollars(*micros)),
        })
        .collect();
    let most = today.by_hour.iter().enumerate().max_by_key(|(_, micros)| **micros);
    let label = match most {
        Some((hour, micros)) => {
            format!("Spend by hour; most between {hour} and {} o’clock, {}", hour + 1, words::dollars(*micros))
        }
        None => "Spend by hour; nothing yet".to_owned(),
    };
    let step = if hours.len() > 14 { 10 } else { 16 };
    let listed = today.by_agent.len().min(LISTED_AGENTS);
    let (shown, others) = today.by_agent.split_at(listed);
    html! {
        div.body {
            div.row {
                p.figure { (words::cost(today.spent.cost_micros, today.spent.unpriced_micros)) }
                @if !hours.is_empty() { div.end { (bars(&hours, step, 74, &label)) } }
            }
            @if today.by_agent.is_empty() {
                p.muted { "Nothing spent today." }
            } @else {
                table { tbody {
                    @for row in shown {
                        tr {
                            td { (name(words::display_name(&row.name))) }
                            td.n { (words::cost(row.cost_micros, row.unpriced_micros)) }
                            td.n { (words::tokens(row.tokens)) " tokens" }
                        }
                    }
                    @if !others.is_empty() {
                        @let names: Vec<&str> = others.iter().map(|row| words::display_name(&row.name)).collect();
                        tr {
                            td { (name(&names.join(", "))) }
                            td.n { (words::cost(others.iter().map(|row| row.cost_micros).sum(), others.iter().map(|row| row.unpriced_micros).sum())) }
                            td.n { (words::tokens(others.iter().map(|row| row.tokens).sum())) " tokens" }
                        }
                    }
                } }
            }
        }
    }
}

fn avoided(today: &TodayView) -> Markup {
    let avoided = &today.avoided;
    html! {
        div.body {
            p.figure {
                @if avoided.cost_micros > 0 { small { "about " } }
                (words::dollars(avoided.cost_micros)) " "
                small { "in " (words::pluralize(avoided.loops.len() as u64, "loop")) }
            }
            @if !avoided.loops.is_empty() {
                table { tbody {
                    @for held in avoided.loops.iter().take(LISTED_LOOPS) {
                        tr {
                            td { a href=(session_url(&held.session)) { (name(&held.name)) } ", " (name(&held.how)) }
                            td.n { (words::dollars(held.cost_micros)) }
                        }
                    }
                    @if avoided.loops.len() > LISTED_LOOPS {
                        tr { td.muted colspan="2" { "and " (avoided.loops.len() - LISTED_LOOPS) " more" } }
                    }
                } }
            }
            p.muted { "The loop’s own burn rate × the time held, at most one hour and at most the budget left." }
        }
    }
}

fn quotas(frame: &Frame<'_>, today: &TodayView) -> Markup {
    if today.quotas.is_empty() {
        return html! { div.body { p.muted { "No provider has reported a limit yet. Limits are read from answers that pass the proxy, and from transcripts." } } };
    }
    html! { table { tbody { @for quota in &today.quotas { (quota_row(frame, quota)) } } } }
}

fn quota_row(frame: &Frame<'_>, quota: &QuotaView) -> Markup {
    let percent = quota.used_percent.clamp(0.0, 999.0).round() as u32;
    let label = format!("{percent} % of {}, {}, used", quota.account, quota.limit);
    html! {
        tr {
            th scope="row" { (name(&quota.account)) br; small { (name(&quota.limit)) } }
            td { div.meter { (percent) " %" (bar(percent, &label)) } }
            td.n { @match quota.resets_at { Some(reset) => { (moment(frame, reset)) } None => { "–" } } }
        }
    }
}
