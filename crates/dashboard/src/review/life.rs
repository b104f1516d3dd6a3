//! The life of an issue, drawn: raised, open, closed, round by round.

use belay_ipc::views::ReviewIssueView;
use maud::{Markup, html};

use crate::charts::px;
use crate::text::name;

/// Width of all rounds, if there are many.
const WIDTH: f64 = 240.0;

/// Width of a round, at most and at least.
const STEP: (f64, f64) = (48.0, 16.0);

const HEIGHT: f64 = 20.0;

/// The rounds that the drawings cover.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    first: u32,
    last: u32,
    step: f64,
}

impl Scale {
    /// A scale that ends at the newest round.
    pub(super) fn new(rounds: u32) -> Self {
        let last = rounds.max(1);
        let step = (WIDTH / f64::from(last)).clamp(STEP.1, STEP.0);
        let shown = (WIDTH / step) as u32;
        Self { first: last.saturating_sub(shown) + 1, last, step }
    }

    fn rounds(self) -> impl Iterator<Item = u32> {
        self.first..=self.last
    }

    fn x(self, round: u32) -> f64 {
        (f64::from(round.clamp(self.first, self.last) - self.first) + 0.5) * self.step
    }

    fn width(self) -> f64 {
        f64::from(self.last - self.first + 1) * self.step
    }

    /// The numbers of the rounds.
    pub(super) fn axis(self) -> Markup {
        // Narrow columns have room for every other number.
        let every = if self.step < 24.0 { 2 } else { 1 };
        html! {
            svg width=(px(self.width())) height=(px(HEIGHT)) role="img" aria-label={ "Rounds " (self.first) " to " (self.last) } {
                @for round in self.rounds().filter(|round| (self.last - round).is_multiple_of(every)) {
                    text x=(px(self.x(round))) y="14" text-anchor="middle" { (round) }
                }
            }
        }
    }

    /// One issue. It is coloured if a fix introduced it.
    pub(super) fn life(self, issue: &ReviewIssueView) -> Markup {
        let colour = if is_seeded(issue) { "ma" } else { "" };
        let is_open = issue.state == "open";
        let end = if is_open { self.last } else { issue.closed_in.unwrap_or(issue.raised_in).max(issue.raised_in) };
        let (from, to) = (self.x(issue.raised_in), self.x(end));
        html! {
            svg width=(px(self.width())) height=(px(HEIGHT)) role="img" aria-label=(name(&words(issue))) {
                path.rule d=(self.rounds().map(|round| format!("M{} 0v20", px(self.x(round)))).collect::<String>()) {}
                @if to > from { path class={ "m life " (colour) } d={ "M" (px(from)) " 10H" (px(to)) } {} }
                @if issue.state == "follow-up" {
                    circle class={ "m o " (colour) } cx=(px(from)) cy="10" r="4.5" stroke-dasharray="2 2" {}
                } @else if is_open {
                    circle class={ "m " (colour) } cx=(px(from)) cy="10" r="4.5" {}
                    @if to > from { circle class={ "m o " (colour) } cx=(px(to)) cy="10" r="4.5" {} }
                } @else {
                    @if to > from { circle class={ "m " (colour) } cx=(px(from)) cy="10" r="4.5" {} }
                    circle.m.o cx=(px(to)) cy="10" r="7" {}
                    path.line d=(closed_mark(&issue.state, to)) {}
                }
            }
        }
    }
}

/// A check, a cross or a dash.
fn closed_mark(state: &str, x: f64) -> String {
    match state {
        "fixed" => format!("M{} 10.4l2.6 2.6 4.4-5.4", px(x - 3.4)),
        "rejected" => format!("M{} 7.4l5.2 5.2m0-5.2l-5.2 5.2", px(x - 2.6)),
        _ => format!("M{} 10h6", px(x - 3.0)),
    }
}

/// A fix of the loop itself introduced the issue.
pub(super) fn is_seeded(issue: &ReviewIssueView) -> bool {
    issue.provenance.starts_with("fix of")
}

/// "raised in round 1, fixed in round 2"
fn words(issue: &ReviewIssueView) -> String {
    let raised = format!("raised in round {}", issue.raised_in);
    match (issue.state.as_str(), issue.closed_in) {
        ("open", _) => format!("{raised}, open"),
        ("follow-up", _) => format!("{raised}, a follow-up"),
        (state, Some(round)) => format!("{raised}, {state} in round {round}"),
        (state, None) => format!("{raised}, {state}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rounds_are_drawn_narrower_and_the_oldest_are_left_out() {
        let scale = Scale::new(4);
        assert_eq!((scale.first, scale.step, scale.x(4)), (1, 48.0, 168.0));
        let scale = Scale::new(40);
        assert_eq!((scale.first, scale.last, scale.step), (26, 40, 16.0));
        assert_eq!(scale.x(3), scale.x(26), "an older issue begins at the edge");
        assert_eq!(Scale::new(0).width(), 48.0);
    }
}
