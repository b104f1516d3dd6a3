//! What the dashboard, its API and `belay top` show, read from the store. Everything is bounded: a session with 31,000
//! events costs as much as one with 30.

mod cache;
mod event_line;
mod event_search;
mod needs;
mod overview;
mod picture;
mod session_page;
mod spend;

pub(crate) use cache::OverviewCache;
pub(crate) use event_search::search_events;
pub(crate) use needs::{BUDGET_PATTERN, next_budget};
pub(crate) use overview::budget_left;
pub use overview::overview;
pub use session_page::{PageWindow, session_page};
pub(crate) use spend::day_start;
pub use spend::{SpendReport, spend_report};
