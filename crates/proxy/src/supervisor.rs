//! The interface to the engine: the relay reports events and asks for verdicts.

use std::future::Future;
use std::pin::Pin;

use belay_core::{Digest, Event, SessionKey, Verdict};

use crate::inspect::ReportedQuota;
use crate::local_response::LocalResponse;

/// Whether a session may continue, answered from memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HoldState {
    /// It may continue.
    #[default]
    Free,
    /// Its next request needs a verdict.
    MustAsk,
    /// It is paused until a person lifts the pause. Its next request needs a verdict, and is refused without one.
    Held,
    /// It was killed. Responses in flight end as well.
    Killed,
}

/// What a session may still spend. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RemainingBudget {
    pub tokens: Option<u64>,
    /// The remaining cost and the price of an output token, both in millionths of a US dollar.
    pub cost: Option<(u64, f64)>,
    /// Other sessions spend from the same budget.
    pub shared: bool,
    /// Other sessions have spent from the budget since: the next request needs a verdict.
    pub outdated: bool,
}

impl RemainingBudget {
    pub fn is_limited(&self) -> bool {
        self.tokens.is_some() || self.cost.is_some()
    }

    /// Whether this many output tokens exceed the budget.
    pub fn is_exceeded_by_output(&self, output: u64) -> bool {
        self.tokens.is_some_and(|left| output > left)
            || self.cost.is_some_and(|(left, each)| output as f64 * each > left as f64)
    }
}

pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Decides whether sessions may continue.
pub trait Supervisor: Send + Sync + 'static {
    /// The hold state of a session. Called on the request path: it must not block.
    fn hold_state(&self, session: &SessionKey) -> HoldState;

    /// What a session may still spend. It must not block.
    fn remaining_budget(&self, _session: &SessionKey, _model: Option<&str>) -> RemainingBudget {
        RemainingBudget::default()
    }

    /// Records events in order and returns a verdict on each. Called on the recorder thread, so it may block.
    fn observe(&self, events: Vec<Event>) -> Vec<Verdict>;

    /// Resolves when the hold state of any session may have changed.
    fn hold_state_changed(&self) -> BoxFuture<()>;

    /// A provider reported quotas to a session. `credential`: the digest of the key it used. It must not block.
    fn report_quotas(&self, _session: &SessionKey, _credential: Option<Digest>, _quotas: Vec<ReportedQuota>) {}

    /// The refusal of a request that names its session by `X-Loop-Session` and was not sent by a known agent. Such a
    /// request is refused without waiting. `None` if it is to be treated like any other.
    fn refusal(&self, _session: &SessionKey, _verdict: &Verdict) -> BoxFuture<Option<LocalResponse>> {
        Box::pin(std::future::ready(None))
    }
}

/// Lets every session continue.
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
