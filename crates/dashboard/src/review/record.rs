//! Cost per role, the live output, the task itself, its files, and what people decided.

use std::time::Duration;

use belay_ipc::views::{ArtifactView, ReviewDecisionView, ReviewPhase, ReviewView, RoleSpendView, RunningStepView};
use maud::{Markup, html};

use super::{OUTPUT, RECORD, ROLES, footer};
use crate::frame::Frame;
use crate::icons::icon;
use crate::parts::{element_id, moment, panel, path_segment, session_url, since, small};
use crate::review_task::{self, agent, review_url};
use crate::text::{exact, name, output as line_of, sentence};
use crate::words;

/// Files that are listed.
const MAX_FILES: usize = 300;

/// Decisions that are listed, the newest.
const MAX_DECISIONS: usize = 40;

pub(super) fn roles(view: &ReviewView) -> Markup {
    let aside = review_task::budget(&view.summary)
        .map_or_else(String::new, |(percent, _)| format!("{percent} % of the budget"));
    let sum = view.roles.iter().fold(RoleSpendView::default(), |sum, role| RoleSpendView {
        runs: sum.runs.saturating_add(role.runs),
        millis: sum.millis.saturating_add(role.millis),
        tokens: sum.tokens.saturating_add(role.tokens),
        cost_micros: sum.cost_micros.saturating_add(role.cost_micros),
        role: sum.role,
    });
    let figures = |role: &RoleSpendView| {
        let priced = role.tokens > 0 || role.cost_micros > 0;
        html! {
            td.n { (role.runs) } td.n { (words::duration(Duration::from_millis(role.millis))) }
            td.n { @if priced { (words::tokens(role.tokens)) } @else { "–" } } td.n { @if priced { (words::dollars(role.cost_micros)) } @else { "–" } }
        }
    };
    panel(
        ROLES,
        "Cost per role",
        small(&aside),
        &html! {
            @if view.roles.is_empty() {
                div.body { p.muted { "Nothing has run yet." } }
            } @else {
                table {
                    thead { tr { th scope="col" { "Role" } th.n scope="col" { "Runs" } th.n scope="col" { "Time" } th.n scope="col" { "Tokens" } th.n scope="col" { "Cost" } } }
                    tbody {
                        @for role in &view.roles { tr { td { (name(&role_name(&role.role))) } (figures(role)) } }
                        @if view.roles.len() > 1 { tr { th scope="row" { "Total" } (figures(&sum)) } }
                    }
                }
            }
        },
    )
}

/// "Builder, Claude Code" for `builder claude`.
fn role_name(role: &str) -> String {
    let (kind, who) = role.split_once(' ').unwrap_or((role, ""));
    let kind = words::capitalized(kind);
    if who.is_empty() { kind } else { format!("{kind}, {}", agent(who)) }
}

pub(super) fn output(frame: &Frame<'_>, view: &ReviewView) -> Markup {
    let id = &view.summary.id;
    let Some(step) = &view.running else {
        let text = match view.summary.phase {
            ReviewPhase::Queued => "Nothing runs yet. The output of the running step appears here.",
            phase if phase.has_ended() => "Nothing runs. The files below hold every prompt and every answer.",
            _ => "No step runs at the moment.",
        };
        return panel(
            OUTPUT,
            "Live output",
            html! {},
            &html! {
                div.body { p.muted { (text) } }
                @if !view.summary.phase.has_ended() { (footer("watch", id, "")) }
            },
        );
    };
    let title = format!("{}, now", agent(&step.actor));
    let aside = html! {
        small {
            (sentence(&step.step)) ", " (since(frame, step.since))
            @if let Some(session) = &step.session { ", " a.link href=(session_url(session)) { "its session" } }
        }
    };
    panel(OUTPUT, name(&title), aside, &html! { (tail(step)) (footer("watch", id, "")) })
}

/// The newest lines, which stay in view. Each step has a pane of its own, so that one which a reader has scrolled up in
/// gives way to the next step.
fn tail(step: &RunningStepView) -> Markup {
    let pane = element_id("output", &format!("{}{}", step.step, step.since));
    html! {
        div.pane.tail id=(pane) data-tail tabindex="0" role="log" aria-live="off" aria-label="Live output" {
            pre { @if step.output.is_empty() { "No output yet." } @for line in &step.output { (line_of(line)) "\n" } }
        }
    }
}

pub(super) fn panels(frame: &Frame<'_>, view: &ReviewView) -> Markup {
    html! {
        div.two id=(RECORD) {
            div.stack { (prompt(view)) (decisions(frame, view)) }
            (files(frame, view))
        }
    }
}

fn prompt(view: &ReviewView) -> Markup {
    panel(
        "prompt",
        "The task",
        small("what builder and reviewers read"),
        &html! {
            pre.pane tabindex="0" aria-label="Prompt" { (exact(&view.prompt)) }
        },
    )
}

fn files(frame: &Frame<'_>, view: &ReviewView) -> Markup {
    let dir = format!("redacted here; as sent in {}", frame.path(&view.artifacts_dir));
    panel(
        "files",
        "Files",
        small(name(&dir)),
        &html! {
            @if view.artifacts.is_empty() {
                div.body { p.muted { "No file yet. Prompts, answers and diffs of every round are kept here." } }
            } @else {
                div.tall tabindex="0" role="group" aria-label="Files" {
                    table { tbody {
                        @for (round, files) in by_round(&view.artifacts) {
                            tr {
                                th.nowrap scope="row" { @match round { Some(round) => { "Round " (round) } None => { "Task" } } }
                                td { ul.names { @for file in files { (file_link(&view.summary.id, file)) } } }
                            }
                        }
                    } }
                }
            }
            @if view.artifacts.len() > MAX_FILES { footer.muted { "and " (view.artifacts.len() - MAX_FILES) " more" } }
            (footer("artifacts", &view.summary.id, ""))
        },
    )
}

fn file_link(task: &str, file: &ArtifactView) -> Markup {
    // The row names the round already. `02.diff` stays as it is.
    let label = round_of(&file.name).map(|(_, rest)| rest).filter(|rest| rest.contains('.')).unwrap_or(&file.name);
    html! {
        li {
            a.link.mono href={ (review_url(task)) "/artifacts/" (path_segment(&file.name)) } title=(name(&file.name)) { (name(label)) }
            " " small { (words::bytes(file.bytes)) }
        }
    }
}

/// Files of the same round together, in the order of the list; those of the whole task first.
fn by_round(files: &[ArtifactView]) -> Vec<(Option<u32>, Vec<&ArtifactView>)> {
    let mut groups: Vec<(Option<u32>, Vec<&ArtifactView>)> = Vec::new();
    for file in files.iter().take(MAX_FILES) {
        let round = round_of(&file.name).map(|(round, _)| round);
        match groups.iter_mut().find(|(known, _)| *known == round) {
            Some((_, files)) => files.push(file),
            None => groups.push((round, vec![file])),
        }
    }
    groups.sort_by_key(|(round, _)| *round);
    groups
}

/// The round and the rest of a name such as `02-review-codex-output.md`.
fn round_of(name: &str) -> Option<(u32, &str)> {
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = name.split_at(digits);
    let rest = rest.strip_prefix('-').or_else(|| rest.strip_prefix('.'))?;
    Some((number.parse().ok()?, rest))
}

fn decisions(frame: &Frame<'_>, view: &ReviewView) -> Markup {
    panel(
        "decisions",
        "Decisions",
        small("newest first"),
        &html! {
            div.body {
                @if view.decisions.is_empty() {
                    p.muted { "No decisions yet." }
                } @else {
                    ol.log { @for decision in view.decisions.iter().rev().take(MAX_DECISIONS) { (decided(frame, decision)) } }
                }
            }
        },
    )
}

fn decided(frame: &Frame<'_>, decision: &ReviewDecisionView) -> Markup {
    html! {
        li {
            (moment(frame, decision.at)) span.s-rest { (icon("person")) }
            p { b { (name(&frame.who(Some(&decision.by)))) } " " (sentence(&decision.what)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_named_as_people_name_agents() {
        assert_eq!(
            ["builder claude", "reviewer codex@gpt-5", "gates", ""].map(role_name),
            ["Builder, Claude Code", "Reviewer, Codex (gpt-5)", "Gates", ""]
        );
    }

    #[test]
    fn files_are_grouped_by_round() {
        let file = |name: &str| ArtifactView { name: name.to_owned(), bytes: 1 };
        let files = ["10.diff", "02-work-prompt.md", "ledger.json", "02.diff", "99999999999-x"].map(file);
        let groups: Vec<_> = by_round(&files).into_iter().map(|(round, files)| (round, files.len())).collect();
        assert_eq!(groups, [(None, 2), (Some(2), 2), (Some(10), 1)]);
        assert_eq!(round_of("02.diff"), Some((2, "diff")));
    }
}
