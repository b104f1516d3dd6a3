//! Whoever decides. The relay asks and tells; the engine behind this seam remembers and judges.

use std::future::Future;
use std::pin::Pin;

use belay_core::{Event, SessionKey, Verdict};

/// How a session stands, as far as memory tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoldState {
    /// It goes on.
    #[default]
    Free,
    /// It may not simply go on: whoever brings a request has to ask.
    MustAsk,
    /// A pause holds it, which lasts until somebody lifts it: whether it may go on has to be asked, too, and if nobody
    /// can say, it may not.
    Held,
    /// It was stopped for good: what is under way ends, too.
    Killed,
}

/// What a session may still spend before a hard limit; `None` means there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RemainingBudget {
    pub tokens: Option<u64>,
    /// In millionths of a US dollar, and what a token of output costs in the same.
    pub cost: Option<(u64, f64)>,
    /// Other sessions spend from the same budget.
    pub shared: bool,
    /// They have done so since this was known: whoever brings a request has to ask.
    pub outdated: bool,
}

impl RemainingBudget {
    /// Whether there is a limit at all.
    pub fn is_limited(&self) -> bool {
        self.tokens.is_some() || self.cost.is_some()
    }

    /// Whether so many tokens of output are more than is left.
    pub fn is_exceeded_by_output(&self, output: u64) -> bool {
        self.tokens.is_some_and(|left| output > left)
            || self.cost.is_some_and(|(left, each)| output as f64 * each > left as f64)
    }
}

/// Something that resolves later.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Decides whether sessions may go on.
pub trait Supervisor: Send + Sync + 'static {
    /// How a session stands. Asked for every request, on the way of every byte: it must not wait for
    /// anything.
    fn hold_state(&self, session: &SessionKey) -> HoldState;

    /// What a session may still spend. Must not wait, either.
    fn remaining_budget(&self, _session: &SessionKey, _model: Option<&str>) -> RemainingBudget {
        RemainingBudget::default()
    }

    /// Takes facts in, in order, and answers each. May take its time; called away from the relay.
    fn observe(&self, events: Vec<Event>) -> Vec<Verdict>;

    /// Resolves when some session's standing may have changed. Whoever waits looks again.
    fn hold_state_changed(&self) -> BoxFuture<()>;

    /// How a session stands in the words of Loop Watchdog's `status`, for its clients; null when nobody knows.
    fn loop_watchdog_status(&self, _session: &SessionKey) -> BoxFuture<serde_json::Value> {
        Box::pin(std::future::ready(serde_json::Value::Null))
    }
}

/// Nobody decides anything: all go on.
#[derive(Debug)]
pub struct AllowAll;

impl Supervisor for AllowAll {
    fn hold_state(&self, _: &SessionKey) -> HoldState {
        HoldState::Free
    }

    fn observe(&self, events: Vec<Event>) -> Vec<Verdict> {
        events.iter().map(|_| Verdict::Go).collect()
    }

    fn hold_state_changed(&self) -> BoxFuture<()> {
        Box::pin(std::future::pending())
    }
}
