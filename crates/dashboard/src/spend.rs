//! What agents cost: by day, project, model and agent.

use belay_ipc::views::SpendView;
use maud::{Markup, html};

use crate::charts::{self, Bar};
use crate::frame::{Frame, Live, NAV, Page, PageView};
use crate::model::SpendPage;
use crate::parts::{command, panel, small};
use crate::text::name;
use crate::words;

/// Names that a table lists.
const LISTED: usize = 20;

/// Periods that can be chosen, in days.
const PERIODS: [u32; 3] = [7, 30, 90];

const SPEND: &str = "spend";

impl PageView for SpendPage {
    fn place(&self) -> Page {
        Page::Spend
    }

    fn page(&self, frame: &Frame<'_>) -> Markup {
        let live = Live { at_once: &[NAV], each_minute: &[SPEND], ..Live::default() };
        frame.document("Spend", live, &content(self))
    }

    fn part(&self, _frame: &Frame<'_>, id: &str) -> Option<Markup> {
        (id == SPEND).then(|| content(self))
    }
}

fn content(view: &SpendPage) -> Markup {
    html! {
        div.stack id=(SPEND) {
            div.title {
                h1 { "Spend" }
                nav.tabs aria-label="Period" {
                    @for days in PERIODS { a href={ "/spend?days=" (days) } aria-current=[(days == view.days).then_some("true")] { (days) " days" } }
                }
            }
            (panel("by-day", "By day", small(format!("last {} days", view.days)), &by_day(view)))
            div.three {
                (panel("by-project", "By project", html! {}, &table("Project", &view.by_project, |name| name.rsplit('/').next().unwrap_or(name))))
                (panel("by-model", "By model", html! {}, &table("Model", &view.by_model, |name| name)))
                (panel("by-agent", "By agent", html! {}, &table("Agent", &view.by_agent, words::display_name)))
            }
            (command("belay sessions --json"))
        }
    }
}

fn by_day(view: &SpendPage) -> Markup {
    let every = view.by_day.len().div_ceil(10).max(1);
    let bars: Vec<Bar> = view
        .by_day
        .iter()
        .enumerate()
        .map(|(at, day)| Bar {
            value: day.cost_micros.saturating_add(day.unpriced_micros),
            tick: (at % every == 0).then(|| short_date(&day.name)),
            title: format!(
                "{}: {}, {} tokens",
                day.name,
                words::cost(day.cost_micros, day.unpriced_micros),
                words::tokens(day.tokens)
            ),
        })
        .collect();
    let most = view.by_day.iter().max_by_key(|day| day.cost_micros);
    let label = most.map_or_else(String::new, |day| {
        format!("Spend by day; most on {}, {}", day.name, words::dollars(day.cost_micros))
    });
    let step = match bars.len() {
        0..=10 => 96,
        11..=40 => 44,
        _ => 14,
    };
    html! {
        div.body {
            p.figure { (words::cost(view.total.cost_micros, view.total.unpriced_micros)) " " small { (words::tokens(view.total.tokens)) " tokens" } }
            @if view.total.tokens == 0 {
                p.muted { "Nothing spent in this time." }
            } @else {
                div.scroll.newest tabindex="0" role="group" aria-label="Days" { (charts::bars(&bars, step, 140, &label)) }
            }
            @if view.total.unpriced_micros > 0 {
                p.muted { "A part of this is an estimate: some models have no known price. " code { "belay prices" } " lists known prices." }
            }
        }
    }
}

/// "Nov 18" for `2026-11-18`.
fn short_date(date: &str) -> String {
    let parsed: Option<jiff::civil::Date> = date.parse().ok();
    parsed.map_or_else(|| date.to_owned(), |date| date.strftime("%b %-d").to_string())
}

fn table(what: &str, rows: &[SpendView], shown: impl Fn(&str) -> &str) -> Markup {
    let sum = |row: &SpendView| row.cost_micros.saturating_add(row.unpriced_micros);
    let max = rows.iter().map(sum).max().unwrap_or(0);
    html! {
        @if rows.is_empty() {
            div.body { p.muted { "Nothing yet." } }
        } @else {
            table {
                thead { tr { th scope="col" { (what) } th.n scope="col" { "Cost" } th.n scope="col" { "Tokens" } } }
                tbody {
                    @for row in rows.iter().take(LISTED) {
                        tr {
                            td.break title=(name(&row.name)) { (name(shown(&row.name))) (charts::share(sum(row), max)) }
                            td.n { (words::cost(row.cost_micros, row.unpriced_micros)) }
                            td.n { (words::tokens(row.tokens)) }
                        }
                    }
                }
            }
            @if rows.len() > LISTED { footer.muted { "and " (rows.len() - LISTED) " more" } }
        }
    }
}
