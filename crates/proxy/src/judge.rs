//! Whoever decides. The relay asks and tells; the engine behind this seam remembers and judges.

use std::future::Future;
use std::pin::Pin;

use belay_core::{Event, SessionKey, Verdict};

/// How a session stands, as far as memory tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It goes on.
    #[default]
    Free,
    /// It may not simply go on: whoever brings a request has to ask.
    Asks,
    /// A pause holds it, which lasts until somebody lifts it: whether it may go on has to be asked, too, and if nobody
    /// can say, it may not.
    Held,
    /// It was stopped for good: what is under way ends, too.
    Stopped,
}

/// What a session may still spend before a hard limit; `None` means there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Allowance {
    pub tokens: Option<u64>,
    /// In millionths of a US dollar, and what a token of output costs in the same.
    pub cost: Option<(u64, f64)>,
    /// Other sessions spend from the same budget.
    pub shared: bool,
    /// They have done so since this was known: whoever brings a request has to ask.
    pub outdated: bool,
}

impl Allowance {
    /// Whether there is a limit at all.
    pub fn is_limited(&self) -> bool {
        self.tokens.is_some() || self.cost.is_some()
    }

    /// Whether so many tokens of output are more than is left.
    pub fn is_exceeded_by(&self, output: u64) -> bool {
        self.tokens.is_some_and(|left| output > left)
            || self.cost.is_some_and(|(left, each)| output as f64 * each > left as f64)
    }
}

/// Something that resolves later.
pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Decides whether sessions may go on.
pub trait Judge: Send + Sync + 'static {
    /// How a session stands. Asked for every request, on the way of every byte: it must not wait for
    /// anything.
    fn standing(&self, session: &SessionKey) -> Standing;

    /// What a session may still spend. Must not wait, either.
    fn allowance(&self, _session: &SessionKey, _model: Option<&str>) -> Allowance {
        Allowance::default()
    }

    /// Takes facts in, in order, and answers each. May take its time; called away from the relay.
    fn observe(&self, events: Vec<Event>) -> Vec<Verdict>;

    /// Resolves when some session's standing may have changed. Whoever waits looks again.
    fn changed(&self) -> Later<()>;

    /// How a session stands in the words of Loop Watchdog's `status`, for its clients; null when nobody knows.
    fn status(&self, _session: &SessionKey) -> Later<serde_json::Value> {
        Box::pin(std::future::ready(serde_json::Value::Null))
    }
}

/// Nobody decides anything: all go on.
#[derive(Debug)]
pub struct Unjudged;

impl Judge for Unjudged {
    fn standing(&self, _: &SessionKey) -> Standing {
        Standing::Free
    }

    fn observe(&self, events: Vec<Event>) -> Vec<Verdict> {
        events.iter().map(|_| Verdict::Go).collect()
    }

    fn changed(&self) -> Later<()> {
        Box::pin(std::future::pending())
    }
}
