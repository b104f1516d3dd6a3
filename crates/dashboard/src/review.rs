//! The page of a review task: what it does, its rounds side by side, its issues, its costs.

mod attention;
mod diff;
mod head;
mod ledger;
mod life;
mod record;
mod rounds;

use belay_ipc::views::{ReviewIssueView, ReviewView};
use maud::{Markup, html};

use crate::frame::{Frame, Live, NAV, Page, PageView};
use crate::parts::command;
use crate::review_task::{decide, live_key, review_url};
use crate::text::shell_word;

const STATE: &str = "state";
const DECIDE: &str = "decide";
const ROUNDS: &str = "rounds";
const LEDGER: &str = "ledger";
const ROLES: &str = "roles";
const OUTPUT: &str = "output";
const RECORD: &str = "record";

/// The page of a review task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReviewPage {
    pub view: ReviewView,
    /// The diff that the reader asked for. No live part shows it, so it need not be read for a fragment.
    pub diff: Option<RoundDiff>,
    /// Which issues the ledger shows.
    pub issues: IssueFilter,
}

/// What a round changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoundDiff {
    pub round: u32,
    /// A unified diff as `git diff` writes it.
    pub text: String,
    /// It is longer than `text`.
    pub truncated: bool,
}

/// Selects issues of the ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IssueFilter {
    #[default]
    All,
    Open,
    FollowUps,
    /// Fixed, rejected or waived.
    Closed,
}

impl IssueFilter {
    const ALL: [(Self, &'static str); 4] =
        [(Self::All, "All"), (Self::Open, "Open"), (Self::FollowUps, "Follow-ups"), (Self::Closed, "Closed")];

    /// The filter for the value of `issues` in an address.
    pub fn from_query(value: &str) -> Self {
        match value {
            "open" => Self::Open,
            "follow-ups" => Self::FollowUps,
            "closed" => Self::Closed,
            _ => Self::All,
        }
    }

    fn query(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Open => Some("open"),
            Self::FollowUps => Some("follow-ups"),
            Self::Closed => Some("closed"),
        }
    }

    fn has(self, issue: &ReviewIssueView) -> bool {
        match self {
            Self::All => true,
            Self::Open => issue.state == "open",
            Self::FollowUps => issue.state == "follow-up",
            Self::Closed => issue.state != "open" && issue.state != "follow-up",
        }
    }
}

impl ReviewPage {
    /// Address of this page with another diff or filter.
    fn url(&self, diff: Option<u32>, issues: IssueFilter, part: &str) -> String {
        let parameters =
            [diff.map(|round| format!("diff={round}")), issues.query().map(|value| format!("issues={value}"))];
        let query: Vec<String> = parameters.into_iter().flatten().collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{mark}{}#{part}", review_url(&self.view.summary.id), query.join("&"))
    }
}

impl PageView for ReviewPage {
    fn place(&self) -> Page {
        Page::Reviews
    }

    fn page(&self, frame: &Frame<'_>) -> Markup {
        let task = &self.view.summary;
        let session = live_key(&task.id);
        let at_once = [NAV, STATE, DECIDE, ROUNDS, LEDGER, ROLES, OUTPUT, RECORD];
        let live = Live { at_once: &at_once, session: Some(&session), ..Live::default() };
        frame.document(
            &head::tab(task),
            live,
            &html! {
                (head::head(frame, &self.view))
                (attention::panel(frame, &self.view))
                (rounds::panel(frame, self))
                @if let Some(diff) = &self.diff { (diff::panel(self, diff)) }
                (ledger::panel(frame, self))
                div.two { (record::roles(&self.view)) (record::output(frame, &self.view)) }
                (record::panels(frame, &self.view))
                (decide::task_dialogs(frame))
            },
        )
    }

    fn part(&self, frame: &Frame<'_>, id: &str) -> Option<Markup> {
        match id {
            STATE => Some(head::head(frame, &self.view)),
            DECIDE => Some(attention::panel(frame, &self.view)),
            ROUNDS => Some(rounds::panel(frame, self)),
            LEDGER => Some(ledger::panel(frame, self)),
            ROLES => Some(record::roles(&self.view)),
            OUTPUT => Some(record::output(frame, &self.view)),
            RECORD => Some(record::panels(frame, &self.view)),
            _ => None,
        }
    }
}

/// The command for what a panel shows, such as `belay review show r-7f3k`.
fn footer(verb: &str, id: &str, rest: &str) -> Markup {
    html! { footer { (command(format!("belay review {verb} {} {rest}", shell_word(id)).trim_end())) } }
}
