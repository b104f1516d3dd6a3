//! The rounds side by side: one column each, one row per step.

use std::time::Duration;

use belay_ipc::views::{ReviewKind, ReviewPhase, ReviewRoundView, ReviewView, ReviewerAnswer, ReviewerView};
use maud::{Markup, html};

use super::{ROUNDS, ReviewPage, footer};
use crate::frame::Frame;
use crate::icons::icon;
use crate::parts::{panel as section, since, small};
use crate::review_task::agent;
use crate::text::{name, sentence};
use crate::words;

/// Rounds that are shown, the newest.
const MAX_ROUNDS: usize = 16;

/// Digits of a tree's id.
const TREE_DIGITS: usize = 7;

pub(super) fn panel(frame: &Frame<'_>, page: &ReviewPage) -> Markup {
    let view = &page.view;
    let skip = view.rounds.len().saturating_sub(MAX_ROUNDS);
    let rounds = &view.rounds[skip..];
    let none = match view.summary.phase {
        ReviewPhase::Queued => "No round yet. The task waits for a free worker.",
        ReviewPhase::Preparing => "No round yet. The workspace is being prepared.",
        _ => "No round was begun.",
    };
    section(
        ROUNDS,
        "Rounds",
        small(summary(view, skip)),
        &html! {
            @if rounds.is_empty() {
                div.body { p.muted { (none) } }
            } @else {
                div.scroll.newest tabindex="0" role="group" aria-label="Rounds side by side" { (table(frame, page, rounds)) }
            }
            (footer("show", &view.summary.id, ""))
        },
    )
}

/// "open issues 7, 5, 2, 1 · round 4 began with an intervention"
fn summary(view: &ReviewView, skip: usize) -> String {
    let mut parts = Vec::new();
    if skip > 0 {
        parts.push(format!("the last {MAX_ROUNDS} of {}", view.rounds.len()));
    }
    let open: Vec<String> = view.rounds[skip..].iter().map(|round| round.open.to_string()).collect();
    if !open.is_empty() {
        parts.push(format!("open issues {}", open.join(", ")));
    }
    if let Some(round) = view.rounds.iter().rev().find(|round| round.intervention.is_some()) {
        parts.push(format!("Belay intervened in round {}", round.number));
    }
    parts.join(" · ")
}

fn table(frame: &Frame<'_>, page: &ReviewPage, rounds: &[ReviewRoundView]) -> Markup {
    let view = &page.view;
    let current = |round: &ReviewRoundView| !view.summary.phase.has_ended() && round.number == view.summary.round;
    let row = |label: Markup, cell: &dyn Fn(&ReviewRoundView) -> Markup| {
        html! {
            tr {
                th scope="row" { (label) }
                @for round in rounds { td class=[current(round).then_some("band")] { (cell(round)) } }
            }
        }
    };
    html! {
        table.rounds {
            thead { tr {
                th scope="col" { span.sr { "Step" } }
                @for round in rounds { th scope="col" { "Round " (round.number) @if current(round) { ", now" } } }
            } }
            tbody {
                (row(html! { "Built" }, &|round| built(frame, page, round, current(round))))
                @for gate in gates(view, rounds) { (row(html! { "Gate: " code { (name(gate)) } }, &|round| gated(frame, view, round, gate, current(round)))) }
                @for reviewer in reviewers(view, rounds) { (row(html! { (name(&agent(reviewer))) }, &|round| reviewed(frame, view, round, reviewer, current(round)))) }
                @if rounds.iter().any(|round| round.intervention.is_some()) {
                    (row(html! { "Belay" }, &|round| intervention(round)))
                }
                (row(html! { "Open issues" }, &|round| html! { (round.open) @if current(round) { " so far" } }))
                (row(html! { "Cost, time" }, &|round| html! { (words::dollars(round.cost_micros)) ", " (words::duration(Duration::from_millis(round.millis))) }))
            }
        }
    }
}

/// The gates of the task, and others that a round has run.
fn gates<'a>(view: &'a ReviewView, rounds: &'a [ReviewRoundView]) -> Vec<&'a str> {
    let run = rounds.iter().flat_map(|round| &round.gates).map(|gate| &gate.command);
    distinct(view.gates.iter().chain(run))
}

/// The reviewers of the task, and others that were asked.
fn reviewers<'a>(view: &'a ReviewView, rounds: &'a [ReviewRoundView]) -> Vec<&'a str> {
    let asked = rounds.iter().flat_map(|round| &round.reviews).map(|review| &review.reviewer);
    distinct(view.summary.reviewers.iter().chain(asked))
}

fn distinct<'a>(items: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut seen: Vec<&str> = Vec::new();
    for item in items {
        if !seen.contains(&item.as_str()) {
            seen.push(item);
        }
    }
    seen
}

fn mark(class: &str, shape: &str, text: Markup) -> Markup {
    html! { span.state.(class) { (icon(shape)) span { (text) } } }
}

fn nothing() -> Markup {
    html! { span.muted { "–" } }
}

/// The step that runs, if `actor` performs it in this phase.
fn running(
    frame: &Frame<'_>,
    view: &ReviewView,
    phase: ReviewPhase,
    actor: Option<&str>,
    word: &str,
) -> Option<Markup> {
    let step = view
        .running
        .as_ref()
        .filter(|step| view.summary.phase == phase && actor.is_none_or(|actor| actor == step.actor))?;
    Some(mark("s-work", "working", html! { (word) " " (since(frame, step.since)) }))
}

fn intervention(round: &ReviewRoundView) -> Markup {
    match &round.intervention {
        Some(text) => mark("s-need", "nudge", html! { (sentence(text)) }),
        None => nothing(),
    }
}

fn built(frame: &Frame<'_>, page: &ReviewPage, round: &ReviewRoundView, current: bool) -> Markup {
    let Some(built) = &round.built else {
        let building = running(frame, &page.view, ReviewPhase::Building, None, "building").filter(|_| current);
        return building.unwrap_or_else(nothing);
    };
    let tree: String = built.tree.chars().take(TREE_DIGITS).collect();
    html! {
        code { (name(&tree)) } " "
        @if built.changed { "+" (built.added) " −" (built.removed) ", " (words::pluralize(built.files.into(), "file")) }
        @else { span.s-need { "nothing changed" } }
        @if round.has_diff {
            br; a.link.muted href=(page.url(Some(round.number), page.issues, "diff")) aria-label={ "diff of round " (round.number) } { "diff" }
        }
    }
}

fn gated(frame: &Frame<'_>, view: &ReviewView, round: &ReviewRoundView, command: &str, current: bool) -> Markup {
    match round.gates.iter().rev().find(|gate| gate.command == command) {
        Some(gate) if gate.passed => {
            mark("s-done", "check", html! { (name(if gate.summary.is_empty() { "passed" } else { &gate.summary })) })
        }
        Some(gate) => {
            mark("s-fail", "failed", html! { (name(if gate.summary.is_empty() { "failed" } else { &gate.summary })) })
        }
        None => running(frame, view, ReviewPhase::Gating, Some(command), "running")
            .filter(|_| current)
            .unwrap_or_else(nothing),
    }
}

fn reviewed(frame: &Frame<'_>, view: &ReviewView, round: &ReviewRoundView, reviewer: &str, current: bool) -> Markup {
    let answers: Vec<&ReviewerView> = round.reviews.iter().filter(|review| review.reviewer == reviewer).collect();
    let now = running(frame, view, ReviewPhase::Reviewing, Some(reviewer), "reviewing").filter(|_| current);
    html! {
        @for answer in &answers { div { (verdict(answer)) } }
        @match now {
            Some(now) => { div { (now) } }
            None if answers.is_empty() => { (nothing()) }
            None => {}
        }
    }
}

fn verdict(review: &ReviewerView) -> Markup {
    let issues = words::pluralize(review.issues.into(), "issue");
    let (class, shape, word) = match review.answer {
        ReviewerAnswer::Done => ("s-done", "check", "done".to_owned()),
        ReviewerAnswer::IssuesFound => ("s-fail", "failed", issues),
        ReviewerAnswer::BlockedOnHuman => ("s-need", "person", "needs a person".to_owned()),
        ReviewerAnswer::Unreadable => ("s-need", "unknown", "unreadable answer".to_owned()),
        ReviewerAnswer::NoVerdict => ("s-need", "unknown", "no verdict".to_owned()),
    };
    // What every review is need not be said.
    let kind = match review.kind {
        ReviewKind::Full | ReviewKind::Delta => None,
        ReviewKind::Final => Some("final"),
        ReviewKind::Arbitration => Some("arbitration"),
    };
    html! {
        (mark(class, shape, html! { (word) @if let Some(kind) = kind { " " small { (kind) } } }))
        @if let Some(note) = &review.note { div.muted { (sentence(note)) } }
    }
}
