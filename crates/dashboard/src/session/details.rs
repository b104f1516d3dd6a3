//! Failing tests, files, sub-agents, tokens.

use belay_core::event::Usage;
use belay_core::prices::ModelPrice;
use belay_ipc::views::{FailingView, SessionPageView, SessionView};
use maud::{Markup, html};

use super::footer;
use crate::charts::px;
use crate::parts::{panel, session_link, small};
use crate::state;
use crate::text::{name, shell_word};
use crate::words;

/// Tests that are drawn.
const MAX_TESTS: usize = 16;

/// Runs that are drawn, the newest.
const MAX_RUNS: usize = 24;

/// Width of a run.
const RUN: f64 = 28.0;

/// Files that are listed.
const MAX_FILES: usize = 12;

/// Sessions of the tree that are listed.
const MAX_NODES: usize = 40;

/// Depth from which on the tree is not indented further.
const MAX_DEPTH: u32 = 5;

pub(super) fn panels(view: &SessionPageView) -> Markup {
    html! {
        div.two id="details" {
            @if let Some(failing) = &view.failing { (failing_tests(failing)) }
            (files(view))
            (tree(view))
            (tokens(view))
        }
    }
}

fn failing_tests(failing: &FailingView) -> Markup {
    let skip = failing.runs.len().saturating_sub(MAX_RUNS);
    let runs = &failing.runs[skip..];
    let width = RUN * runs.len() as f64;
    let tests = &failing.tests[..failing.tests.len().min(MAX_TESTS)];
    let height = 20.0 * (tests.len() as f64 + 1.0) + 8.0;
    let count = |run: usize| failing.tests.iter().filter(|test| test.failed.get(run) == Some(&true)).count();
    let stuck = failing.same_from.map(|from| failing.runs.iter().filter(|run| **run >= from).count());
    let (first, last) = (count(0), count(failing.runs.len().saturating_sub(1)));
    let summary = match stuck {
        Some(times) if times > 1 => format!("{first} → {last}, then the same {times} times"),
        _ => format!("{first} → {last}"),
    };
    let label = format!("Failing tests over {}: {summary}", words::pluralize(failing.runs.len() as u64, "run"));
    panel(
        "tests",
        "Failing tests, run by run",
        small(&summary),
        &html! {
            div.picture.named {
                ol aria-label="Tests" {
                    li { small { "test run at call" } }
                    @for test in tests { li { span title=(name(&test.name)) { (name(&test.name)) } } }
                }
                div.scroll tabindex="0" role="group" aria-label="Runs" {
                    svg width=(px(width)) height=(px(height)) viewBox={ "0 0 " (px(width)) " " (px(height)) } role="img" aria-label=(label) {
                        @for (index, run) in runs.iter().enumerate() {
                            @let x = (index as f64 + 0.5) * RUN;
                            text x=(px(x)) y="14" text-anchor="middle" { (run) }
                            @for (row, test) in tests.iter().enumerate() {
                                @let y = 30.0 + 20.0 * row as f64;
                                @let stuck = failing.same_from.is_some_and(|from| *run >= from);
                                @match test.failed.get(skip + index) {
                                    Some(true) => { path class=(if stuck { "m x mb" } else { "m x" }) d={ "M" (px(x - 4.0)) " " (px(y - 4.0)) "l8 8m0-8l-8 8" } {} }
                                    Some(false) => { circle.m.o cx=(px(x)) cy=(px(y)) r="1.5" {} }
                                    None => {}
                                }
                            }
                        }
                    }
                }
            }
            @if failing.tests.len() > MAX_TESTS { footer.muted { "and " (failing.tests.len() - MAX_TESTS) " more tests" } }
        },
    )
}

fn files(view: &SessionPageView) -> Markup {
    let number = |count: u64| if count == 0 { "–".to_owned() } else { words::grouped(count) };
    panel(
        "files",
        "Files touched",
        small("in this window"),
        &html! {
            @if view.files.is_empty() {
                div.body { p.muted { "No file was read or written in this window." } }
            } @else {
                table {
                    thead { tr {
                        th scope="col" { "File" } th.n scope="col" { "Reads" } th.n scope="col" { "Writes" }
                        th.n scope="col" { "Contents" } th.mid scope="col" { "Note" }
                    } }
                    tbody {
                        @for file in view.files.iter().take(MAX_FILES) {
                            tr {
                                td.break { code { (name(&file.path)) } }
                                td.n { (number(file.reads)) } td.n { (number(file.writes)) } td.n { (number(file.contents)) }
                                td.mid { @if file.alternates { small.s-need { (words::pluralize(file.contents, "content")) ", alternating" } } }
                            }
                        }
                    }
                }
                @if view.files.len() > MAX_FILES { footer.muted { "and " (view.files.len() - MAX_FILES) " more" } }
            }
        },
    )
}

fn tree(view: &SessionPageView) -> Markup {
    panel(
        "subs",
        "Sub-agents",
        small("budgets add up to the root"),
        &html! {
            @if view.tree.len() < 2 {
                div.body { p.muted { "None so far." } }
            } @else {
                div.body.tree {
                    ul {
                        @for node in view.tree.iter().take(MAX_NODES) {
                            li class={ "row d" (node.depth.min(MAX_DEPTH)) } { (tree_node(&node.session, node.session.session == view.session.session)) }
                        }
                    }
                    @if view.tree.len() > MAX_NODES { p.muted { "and " (view.tree.len() - MAX_NODES) " more" } }
                }
            }
        },
    )
}

fn tree_node(session: &SessionView, current: bool) -> Markup {
    html! {
        (state::state(state::of_status(&session.status), &html! {}))
        span.cut.grow { @if current { (name(session.title())) } @else { (session_link(session)) } }
        small.end { (words::pluralize(session.calls, "call")) " · " (words::cost(session.cost_micros, session.unpriced_micros)) }
    }
}

/// What input, cache writes, cache reads and output cost. `None` if that does not add up to the known cost, because the
/// session used several models, or has no price.
fn cost_by_kind(session: &SessionView) -> Option<[u64; 4]> {
    let price = ModelPrice::for_model(session.model.as_deref()?, &[])?;
    let usage = session.usage;
    let none = Usage::default();
    let costs = [
        Usage { input: usage.input, ..none },
        Usage { cache_write: usage.cache_write, cache_write_1h: usage.cache_write_1h, ..none },
        Usage { cache_read: usage.cache_read, ..none },
        Usage { output: usage.output, ..none },
    ]
    .map(|usage| price.cost_micros(&usage));
    let sum: u64 = costs.iter().sum();
    (sum.abs_diff(session.cost_micros) <= session.cost_micros / 50).then_some(costs)
}

fn tokens(view: &SessionPageView) -> Markup {
    let session = &view.session;
    let usage = &session.usage;
    let share = |tokens: u64| tokens.saturating_mul(100).checked_div(usage.total()).unwrap_or(0);
    let rows = [
        ("Input", usage.input),
        ("Cache write", usage.cache_write),
        ("Cache read", usage.cache_read),
        ("Output", usage.output),
    ];
    let costs = cost_by_kind(session);
    let progress = &session.since_progress.sum;
    let below = &session.sub_agents;
    panel(
        "cost",
        "Tokens and cost",
        small("at list prices"),
        &html! {
            table {
                thead { tr { th scope="col" { "Kind" } th.n scope="col" { "Tokens" } th.n scope="col" { "Share" } th.n scope="col" { "Cost" } } }
                tbody {
                    @for (row, (kind, tokens)) in rows.into_iter().enumerate() {
                        tr {
                            td { (kind) } td.n { (words::tokens(tokens)) }
                            td.n { @if tokens > 0 && share(tokens) == 0 { "<1 %" } @else { (share(tokens)) " %" } }
                            td.n { @if let Some(costs) = costs { (words::dollars(costs[row])) } }
                        }
                    }
                    tr { th scope="row" { "Total" } td.n { (words::tokens(usage.total())) } td {} td.n { b { (words::cost(session.cost_micros, session.unpriced_micros)) } } }
                    tr { td { "Since progress" } td.n { (words::tokens(progress.tokens)) } td.n { (share(progress.tokens)) " %" } td.n { (words::cost(progress.cost_micros, progress.unpriced_micros)) } }
                    @if below.calls > 0 {
                        tr { td { "Sub-agents" } td.n { (words::tokens(below.tokens)) } td {} td.n { (words::cost(below.cost_micros, below.unpriced_micros)) } }
                    }
                }
            }
            @if let Some(model) = &session.unpriced_model { footer.muted { "No price is known for " (name(model)) "; its cost is an estimate: " code { "belay prices" } } }
            (footer(&format!("belay show {}", shell_word(&session.short))))
        },
    )
}
