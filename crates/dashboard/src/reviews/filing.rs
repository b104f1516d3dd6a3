//! The form that files a task.

use belay_core::printable::is_unprintable;
use maud::{Markup, html};

use super::ROOM;
use crate::decide::mirror;
use crate::forms::form;
use crate::frame::Frame;
use crate::model::ReviewForm;
use crate::parts::small;
use crate::text::{name, shell_word};

/// Dollars that a task may spend unless the person says otherwise.
const DOLLARS: &str = "5";

/// Value, label and consequence of each workspace.
const WORKSPACES: [(&str, &str, &str); 3] = [
    (
        "worktree",
        "In a worktree",
        "Starts from the last commit. Your files stay as they are until you land the result.",
    ),
    (
        "worktree_with_changes",
        "In a worktree, with my uncommitted changes",
        "Starts from your files as they are now, in a copy.",
    ),
    ("in_place", "In place", "Edits the directory itself. Nothing else should work in it meanwhile."),
];

pub(super) fn panel(frame: &Frame<'_>, view: &ReviewForm) -> Markup {
    html! {
        section.panel id="file" aria-labelledby="file-h" {
            header { h2 id="file-h" { "File a task" } (small("it runs commands on this machine, as if you had typed them")) }
            div.body data-mirror="review start" {
                (form(frame, "stack", "/reviews", &html! {
                    div.two.fields { (what(view)) (how(frame, view)) }
                    (more(view))
                    (room(view))
                    div.acts { button.main { "File the task" } }
                    output.answer {}
                }))
                (mirror(&line(view)))
            }
        }
    }
}

/// Whether the queue takes another task.
pub(super) fn room(view: &ReviewForm) -> Markup {
    html! {
        p id=(ROOM) class=(if view.queue_is_full { "s-need" } else { "muted" }) {
            @if view.queue_is_full {
                "The queue is full. Cancel a queued task, or wait until one has started."
            } @else {
                "It waits in the queue until a worker is free."
            }
        }
    }
}

fn what(view: &ReviewForm) -> Markup {
    html! {
        div.stack {
            label { b { "Title" } " " small { "the first line of the prompt by default" } input name="title" maxlength="200" autocomplete="off"; }
            label {
                b { "Prompt" } " " small { "what to build; builder and reviewers read it" }
                textarea name="prompt" rows="8" required maxlength="100000" placeholder="Requests with the same Idempotency-Key must charge once. …" {}
            }
            label {
                b { "Accept commands" } " " small { "one per line; each must succeed on the final tree" }
                textarea.mono name="gates" rows="3" maxlength="10000" spellcheck="false" placeholder="cargo test" {}
            }
            @if view.agents.iter().all(|agent| !agent.installed) {
                p.s-need { "No agent was found on this machine. Install one, then reload this page: " code { "belay doctor" } }
            }
        }
    }
}

/// The directories that can be offered. A field shows its value as it is, so a name that would mislead is left out; the
/// command line takes it.
fn project_dirs(view: &ReviewForm) -> impl Iterator<Item = &str> {
    view.project_dirs.iter().map(String::as_str).filter(|project_dir| !project_dir.contains(is_unprintable))
}

/// The builder and the reviewer that the form begins with. Another agent than the builder overlooks other things.
fn preselected(view: &ReviewForm) -> (Option<&str>, Option<&str>) {
    let mut installed = view.agents.iter().filter(|agent| agent.installed).map(|agent| agent.id.as_str());
    let builder = installed.next();
    (builder, installed.next().or(builder))
}

/// The command that equals the form as it begins. `assets/mirror.js` follows the same rules.
fn line(view: &ReviewForm) -> String {
    let (builder, reviewer) = preselected(view);
    let mut line = "belay review start task".to_owned();
    for (option, value) in [("--dir", project_dirs(view).next()), ("--builder", builder), ("--reviewer", reviewer)] {
        if let Some(value) = value {
            line.push_str(&format!(" {option} {}", shell_word(value)));
        }
    }
    format!("{line} --rounds {} --budget {DOLLARS}usd", view.rounds)
}

fn how(frame: &Frame<'_>, view: &ReviewForm) -> Markup {
    let (builder, reviewer) = preselected(view);
    html! {
        div.stack {
            label {
                b { "Directory" } " " small { "a project that Belay has seen, or one in review.roots" }
                input name="project_dir" required list="project_dirs" autocomplete="off" spellcheck="false" value=[project_dirs(view).next()];
            }
            datalist id="project_dirs" { @for project_dir in project_dirs(view) { option value=(project_dir) { (name(&frame.path(project_dir))) } } }
            label {
                b { "Builder" }
                select name="builder" required {
                    @for agent in view.agents.iter().filter(|agent| agent.installed) {
                        option value=(agent.id) selected[builder == Some(agent.id.as_str())] { (name(&agent.name)) }
                    }
                }
            }
            div role="group" aria-labelledby="reviewers-h" {
                b id="reviewers-h" { "Reviewers" } " " small { "at least one, or an accept command; all must agree" }
                div.checks {
                    @for agent in &view.agents {
                        label.row {
                            input type="checkbox" name="reviewer" value=(agent.id) checked[reviewer == Some(agent.id.as_str())] disabled[!agent.installed];
                            span { (name(&agent.name)) @if !agent.installed { " " small { "not installed" } } }
                        }
                    }
                }
            }
            div.row.limits {
                label { b { "Rounds" } " " small { "at most" } input type="number" name="rounds" min="1" max="100" required value=(view.rounds); }
                label { b { "Budget" } " " small { "in dollars; empty for none" } input type="number" name="dollars" min="0" step="any" value=(DOLLARS); }
            }
        }
    }
}

/// What most tasks leave as it is. `assets/forms.js` opens it if a field in it is invalid.
fn more(view: &ReviewForm) -> Markup {
    html! {
        details.more {
            summary { b { "More options" } " " small { "arbiter, quorum, tokens, time per round, where the builder works" } }
            div.two.fields {
                div.stack {
                    label {
                        b { "Arbiter" } " " small { "decides disputes; neither the builder nor a reviewer" }
                        select name="arbiter" {
                            option value="" { "Nobody: a dispute waits for you" }
                            @for agent in view.agents.iter().filter(|agent| agent.installed) {
                                option value=(agent.id) { (name(&agent.name)) }
                            }
                        }
                    }
                    label {
                        b { "Quorum" } " " small { "approvals that suffice; an issue still blocks" }
                        input type="number" name="quorum" min="1" max=(view.agents.len()) step="1" placeholder="all reviewers";
                    }
                    div.row.limits {
                        label { b { "Budget in tokens" } input type="number" name="tokens" min="1" step="1" placeholder="none"; }
                        label { b { "Minutes per round" } input type="number" name="minutes" min="1" max="10080" step="1" placeholder=[view.round_minutes]; }
                    }
                }
                div role="radiogroup" aria-labelledby="workspace-h" {
                    b id="workspace-h" { "Where the builder works" }
                    @for (value, label, consequence) in WORKSPACES {
                        label.choice { input type="radio" name="workspace" value=(value) checked[value == "worktree"]; span { (label) br; small { (consequence) } } }
                    }
                }
            }
        }
    }
}
