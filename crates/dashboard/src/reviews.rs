//! Review tasks: the queue, the tasks by what they need, and a form to file one.

mod filing;
mod row;

use belay_ipc::views::{ReviewPhase, ReviewSummaryView, ReviewsView};
use maud::{Markup, html};

use crate::forms::form;
use crate::frame::{Frame, Live, NAV, Page, PageView};
use crate::icons::icon;
use crate::model::ReviewForm;
use crate::parts::{command, panel, small};
use crate::review_task::{LIVE_KIND, decide};
use crate::words;

const QUEUE: &str = "queue";
const TASKS: &str = "tasks";
/// Whether the queue takes another task. Apart from the form, so that it can change while a person types.
const ROOM: &str = "room";

/// The list of review tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReviewsPage {
    pub view: ReviewsView,
    pub form: ReviewForm,
}

/// Where a task is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    NeedsPerson,
    Running,
    Queued,
    Ended,
}

impl Group {
    fn from_task(task: &ReviewSummaryView) -> Self {
        match task.phase {
            _ if task.needs_person() => Self::NeedsPerson,
            ReviewPhase::Queued => Self::Queued,
            phase if phase.has_ended() => Self::Ended,
            _ => Self::Running,
        }
    }
}

impl PageView for ReviewsPage {
    fn place(&self) -> Page {
        Page::Reviews
    }

    fn page(&self, frame: &Frame<'_>) -> Markup {
        let live = Live { at_once: &[NAV, QUEUE, TASKS, ROOM], kind: Some(LIVE_KIND), ..Live::default() };
        frame.document(
            &tab(&self.view),
            live,
            &html! {
                (queue(frame, &self.view))
                (tasks(frame, &self.view))
                (filing::panel(frame, &self.form))
                (decide::list_dialogs(frame))
            },
        )
    }

    fn part(&self, frame: &Frame<'_>, id: &str) -> Option<Markup> {
        match id {
            QUEUE => Some(queue(frame, &self.view)),
            TASKS => Some(tasks(frame, &self.view)),
            ROOM => Some(filing::room(&self.form)),
            _ => None,
        }
    }
}

/// The title of the page, which counts the tasks that need a person.
fn tab(view: &ReviewsView) -> String {
    match view.tasks.iter().filter(|task| task.needs_person()).count() {
        0 => "Reviews".to_owned(),
        1 => "1 review needs you".to_owned(),
        count => format!("{count} reviews need you"),
    }
}

fn queue(frame: &Frame<'_>, view: &ReviewsView) -> Markup {
    let (shape, class, word) = match (view.paused, view.running) {
        (true, _) => ("held", "s-held", "Paused"),
        (false, 0) => ("idle", "s-rest", "Idle"),
        (false, _) => ("working", "s-work", "Running"),
    };
    html! {
        div.title id=(QUEUE) data-tab=(tab(view)) {
            h1 { "Reviews" }
            span.state.(class) { (icon(shape)) b { (word) } }
            p.muted {
                (view.running) " of " (words::pluralize(view.workers.into(), "worker")) " busy · "
                (view.queued) " of at most " (view.queue_depth) " queued"
                @if view.paused { " · running steps finish, nothing new starts" }
            }
            (form(frame, "acts", "/reviews/queue", &html! {
                input type="hidden" name="paused" value=(!view.paused);
                @if view.paused {
                    button.main { "Resume the queue" }
                } @else {
                    button { "Pause the queue" }
                }
                a.button href="#file" { "File a task" }
                output.answer {}
            }))
        }
    }
}

fn tasks(frame: &Frame<'_>, view: &ReviewsView) -> Markup {
    let of = |group: Group| view.tasks.iter().filter(move |task| Group::from_task(task) == group);
    let left_out = view.total.saturating_sub(view.tasks.len() as u64);
    html! {
        div.stack id=(TASKS) {
            @if view.tasks.is_empty() { (empty()) }
            @if of(Group::NeedsPerson).next().is_some() {
                section.panel.needs id="needs-person" aria-labelledby="needs-person-h" {
                    header { h2 id="needs-person-h" { "Needs you" } (small("these tasks cannot continue without you")) }
                    ol data-linger { @for task in of(Group::NeedsPerson) { (row::needs(frame, task)) } }
                }
            }
            @for (group, id, title, aside) in [
                (Group::Running, "running", "Running", "a builder, gates or reviewers are at work"),
                (Group::Queued, "queued", "Queued", "oldest first"),
                (Group::Ended, "ended", "Ended", "newest first"),
            ] {
                @if of(group).next().is_some() {
                    (panel(id, title, small(aside), &table(frame, group, &of(group).collect::<Vec<_>>())))
                }
            }
            @if left_out > 0 {
                p.muted { (words::pluralize(left_out, "older task")) " not shown: " code { "belay review list" } }
            }
        }
    }
}

fn table(frame: &Frame<'_>, group: Group, tasks: &[&ReviewSummaryView]) -> Markup {
    // The newest task is the first of the list, and the last of the queue.
    let mut tasks = tasks.to_vec();
    if group == Group::Queued {
        tasks.reverse();
    }
    html! {
        table.rows.tasks {
            thead { tr {
                th scope="col" { "State" } th scope="col" { "Task" } th scope="col" { "Now" }
                th scope="col" { "Round" } th.n scope="col" { "Open" } th.n scope="col" { "Cost" } th scope="col" { "Budget" }
                th scope="col" { span.sr { "Decide" } }
            } }
            tbody data-stable { @for task in tasks { (row::row(frame, task)) } }
        }
    }
}

fn empty() -> Markup {
    panel(
        "empty",
        "No review yet",
        html! {},
        &html! {
            div.body {
                p.what {
                    "In a review loop one agent builds what you ask for, your commands test it, and other agents review it. "
                    "Their issues go back to the builder, round after round, until every reviewer agrees or a limit is reached. "
                    "Belay keeps a ledger of the issues, so that a loop which repeats itself, breaks what it fixed or runs out of money stops and asks you."
                }
                (command("belay review start \"task\" --reviewer codex"))
            }
        },
    )
}
