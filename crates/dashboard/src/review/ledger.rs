//! The issues: where they came from, how long they lived, what became of them.

use belay_ipc::views::{ReviewIssueView, ReviewPhase, ReviewView};
use maud::{Markup, html};

use super::life::Scale;
use super::{IssueFilter, LEDGER, ReviewPage};
use crate::forms::form;
use crate::frame::Frame;
use crate::icons::icon;
use crate::parts::element_id;
use crate::review_task::{agents, decide, decisions_url};
use crate::text::{exact, name, sentence};

/// Issues that are listed.
const MAX_ISSUES: usize = 200;

pub(super) fn panel(frame: &Frame<'_>, page: &ReviewPage) -> Markup {
    let view = &page.view;
    let count = |filter: IssueFilter| view.issues.iter().filter(|issue| filter.has(issue)).count();
    let issues: Vec<&ReviewIssueView> = view.issues.iter().filter(|issue| page.issues.has(issue)).collect();
    let scale = Scale::new(view.summary.round.max(view.rounds.last().map_or(0, |round| round.number)));
    let none = match page.issues {
        IssueFilter::All if view.rounds.is_empty() => {
            "Reviewers list what they find here. Every issue keeps its id until it is fixed, rejected or waived."
        }
        IssueFilter::All => "No reviewer has raised an issue.",
        IssueFilter::Open => "No issue is open.",
        IssueFilter::FollowUps => {
            "No follow-up. Issues that neither this task nor a fix introduced are listed as follow-ups."
        }
        IssueFilter::Closed => "No issue has been fixed, rejected or waived.",
    };
    html! {
        section.panel id=(LEDGER) aria-labelledby="ledger-h" {
            header {
                h2 id="ledger-h" { "Ledger" }
                nav.tabs aria-label="Filter issues" {
                    @for (filter, label) in IssueFilter::ALL {
                        a href=(page.url(page.diff.as_ref().map(|diff| diff.round), filter, LEDGER)) aria-current=[(filter == page.issues).then_some("true")] {
                            (label) " " span.count { (count(filter)) }
                        }
                    }
                }
                small.hide { "colour: introduced by a fix" }
            }
            @if issues.is_empty() {
                div.body { p.muted { (none) } }
            } @else {
                table.rows.ledger {
                    thead { tr {
                        th scope="col" { "Issue" } th scope="col" { "Severity" } th scope="col" { "Claim" } th scope="col" { "Introduced by" }
                        th scope="col" { (scale.axis()) } th scope="col" { "State" }
                    } }
                    tbody { @for issue in issues.iter().take(MAX_ISSUES) { (row(frame, view, scale, issue)) } }
                }
            }
            @if issues.len() > MAX_ISSUES { footer.muted { "and " (issues.len() - MAX_ISSUES) " more" } }
            @if !view.issues.is_empty() { (rule(count(IssueFilter::FollowUps))) }
        }
    }
}

/// Why the list stops growing.
fn rule(follow_ups: usize) -> Markup {
    html! {
        footer.muted {
            "Later rounds may add only what a fix broke, or a critical issue with its reason."
            @match follow_ups {
                0 => {}
                1 => { " One other is listed as a follow-up and not fixed here." }
                count => { " " (count) " others are listed as follow-ups and not fixed here." }
            }
        }
    }
}

fn row(frame: &Frame<'_>, view: &ReviewView, scale: Scale, issue: &ReviewIssueView) -> Markup {
    html! {
        tr id=(element_id("issue", &issue.id)) {
            td { code { (name(&issue.id)) } }
            td { (severity(&issue.severity)) }
            th.all scope="row" {
                (sentence(&issue.claim))
                @if let Some(place) = &issue.place { br; small.mono { (name(place)) } }
                @if let Some(evidence) = &issue.evidence {
                    details id=(element_id("evidence", &issue.id)) { summary { small { "Evidence" } } pre.pane { (exact(evidence)) } }
                }
            }
            td.all.came { (name(&issue.provenance)) br; " " small { (name(&agents(&issue.raised_by))) } }
            td.all { (scale.life(issue)) }
            td.all { (state(frame, view, issue)) }
        }
    }
}

fn severity(severity: &str) -> Markup {
    let class = match severity {
        "critical" => "tag s-held",
        "major" => "tag s-need",
        _ => "tag",
    };
    html! { span class=(class) { (name(severity)) } }
}

fn state(frame: &Frame<'_>, view: &ReviewView, issue: &ReviewIssueView) -> Markup {
    let (class, shape) = match issue.state.as_str() {
        "open" => ("s-need", "idle"),
        "fixed" => ("s-done", "check"),
        "follow-up" => ("s-rest", "notice"),
        _ => ("s-rest", "ended"),
    };
    html! {
        span.state.(class) {
            (icon(shape))
            span { (name(&issue.state)) @if let Some(round) = issue.closed_in { " in round " (round) } }
        }
        @if let Some(reason) = &issue.state_reason { div.muted { (sentence(reason)) } }
        @if let Some(objection) = &issue.objection { div.muted { "The builder objects: " (sentence(objection)) } }
        @if issue.state == "open" && view.summary.phase != ReviewPhase::Done {
            (form(frame, "acts", &decisions_url(&view.summary.id), &html! { (decide::waive(&view.summary, &issue.id, &issue.claim)) output.answer {} }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::rule;

    #[test]
    fn follow_ups_are_counted_in_words() {
        assert!(!rule(0).into_string().contains("follow-up"));
        assert!(rule(1).into_string().contains("One other is listed as a follow-up"));
        assert!(rule(3).into_string().contains("3 others are listed"));
    }
}
