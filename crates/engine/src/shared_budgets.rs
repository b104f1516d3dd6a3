//! Budgets shared by the sessions of a project or account: spend is booked in a ledger and reported to each session as an
//! event.

use belay_core::event::{SharedSpend, TokenCost};
use belay_core::{Body, Effect, Event, Session, SessionKey, Source, Timestamp};
use belay_store::{Result, StoreError, Transaction};

use crate::health::Metrics;
use crate::rules_cache::{RulesScope, project_of};
use crate::transaction::{BatchContext, BatchSessions};

const DAY_MILLIS: i64 = 86_400_000;

/// What must be booked before an event is applied.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PendingShare {
    /// Book all unbooked spend of the batch.
    pub(crate) before: bool,
    /// Report the shared totals to the event's session.
    pub(crate) shared: bool,
}

impl BatchContext<'_> {
    /// What must be booked before an event is applied. Other spend is booked once, at the end of the batch.
    pub(crate) fn pending_share(&mut self, session: &Session, event: &Event) -> PendingShare {
        let Body::ModelAsked(ask) = &event.body else { return PendingShare::default() };
        let facts = &session.facts;
        let project = project_of(session, event);
        // Earlier spend belongs to the previous account, project or day.
        let payer_changed = (ask.account.is_some() && ask.account != session.account)
            || project != facts.project.as_deref().or(facts.cwd.as_deref())
            || day(event.at) != day(facts.last_at);
        // Other sessions, or other descendants of its ancestors, may just have used up the budget.
        let scope = RulesScope::for_event(session, event);
        let shared = !ask.auxiliary && self.rules_cache.rules_for(scope, self.rules).rules.budget.is_shared();
        let has_ancestors = session.parent.is_some() || event.parent.is_some();
        PendingShare { before: payer_changed || shared || has_ancestors, shared }
    }

    /// Books a session's unbooked spend and records the shared totals as an event. Returns the effects of that event.
    /// With `asks`, the totals are recorded even if the session spent nothing, because other sessions may have.
    pub(crate) fn book_shared_spend(
        &mut self,
        transaction: &mut dyn Transaction,
        table: &mut BatchSessions,
        index: usize,
        asks: Option<&Event>,
    ) -> Result<Vec<Effect>> {
        let w = &mut table.working[index];
        let session = &w.held.session;
        let at = asks.map_or(session.facts.last_at, |event| event.at);
        let paid = TokenCost {
            tokens: session.spent.usage.total().saturating_sub(w.booked.usage.total()),
            cost_micros: session.spent.max_cost_micros().saturating_sub(w.booked.max_cost_micros()),
        };
        let nothing = paid == TokenCost::default();
        if session.key.is_trial() || !at.is_known() || (nothing && asks.is_none()) {
            return Ok(Vec::new());
        }
        let event = asks.cloned().unwrap_or_else(|| shared_spend_event(&session.key, at, SharedSpend::default()));
        let project = project_of(session, &event).map(|dir| format!("project:{dir}"));
        let account = match (&event.body, session.account) {
            (Body::ModelAsked(ask), known) => ask.account.or(known),
            (_, known) => known,
        };
        let rules = self.rules.rules_for(RulesScope::for_event(session, &event));
        if nothing && !rules.budget.is_shared() {
            return Ok(Vec::new());
        }
        let day = day(at);
        let metrics = &mut *self.metrics;
        let mut book = |name: Option<String>| match name {
            Some(name) => tolerate_fault(transaction.add_ledger_spend(day, &name, &paid), &session.key, metrics),
            None => Ok(TokenCost::default()),
        };
        let shared = SharedSpend {
            day,
            project: book(project)?,
            account: book(account.map(|account| format!("account:{account}")))?,
        };
        w.booked = session.spent;
        if !rules.budget.is_shared() {
            return Ok(Vec::new());
        }
        let event = shared_spend_event(&w.held.session.key, at, shared);
        Ok(self.apply_event(transaction, w, &event)?.decision.effects)
    }
}

/// Logs a fault in one row of the ledger; the event is recorded nevertheless. Faults of the whole store, and conflicts,
/// fail the batch.
pub(crate) fn tolerate_fault<T: Default>(booked: Result<T>, session: &SessionKey, metrics: &mut Metrics) -> Result<T> {
    match booked {
        Err(error @ (StoreError::Malformed { .. } | StoreError::Database(_))) => {
            metrics.faults += 1;
            tracing::error!(%session, %error, "spend not booked");
            Ok(T::default())
        }
        other => other,
    }
}

fn day(at: Timestamp) -> i64 {
    at.millis().div_euclid(DAY_MILLIS)
}

fn shared_spend_event(key: &SessionKey, at: Timestamp, shared: SharedSpend) -> Event {
    let mut event = Event::new("", key.clone(), Source::Timer, at, Body::SharedSpent(shared));
    // Derived, so that a retry produces the same event.
    event.id = event.identity_text();
    event
}
