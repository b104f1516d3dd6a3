//! Budgets that sessions share: what one of them spends, the others of its project and account have left no more.

use belay_core::event::{SharedSpend, TokenCost};
use belay_core::{Body, Effect, Event, Session, Source, Timestamp};
use belay_store::{Result, Transaction};

use crate::transaction::{BatchContext, BatchSessions, project_of};

const DAY_MILLIS: i64 = 86_400_000;

/// What has to be booked before an event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PendingShare {
    /// All that was spent before it.
    pub(crate) before: bool,
    /// And its session wants to know what the others have spent.
    pub(crate) shared: bool,
}

impl BatchContext<'_> {
    /// What has to be booked before an event is taken in. Everybody else is booked once, at the end.
    pub(crate) fn pending_share(&mut self, session: &Session, event: &Event) -> PendingShare {
        let Body::ModelAsked(ask) = &event.body else { return PendingShare::default() };
        let facts = &session.facts;
        let project = project_of(session, event);
        // What was spent so far must not be booked for whom the rest will be.
        let elsewhere = (ask.account.is_some() && ask.account != session.account)
            || project != facts.project.as_deref().or(facts.cwd.as_deref())
            || day(event.at) != day(facts.last_at);
        // Others may have used up what it is about to ask for, a moment ago at that; or what its ancestors share.
        let shared = !ask.auxiliary && self.rulebook.rules_for(project, self.rules).rules.budget.is_shared();
        let has_ancestors = session.parent.is_some() || event.parent.is_some();
        PendingShare { before: elsewhere || shared || has_ancestors, shared }
    }

    /// Books what a session has spent since it was last booked, and lets it know what is spent in all. Returns
    /// what follows. With `asks` it is told even if it spent nothing: others may have.
    pub(crate) fn book_shared_spend(
        &mut self,
        transaction: &mut dyn Transaction,
        table: &mut BatchSessions,
        place: usize,
        asks: Option<&Event>,
    ) -> Result<Vec<Effect>> {
        let w = &mut table.working[place];
        let session = &w.held.session;
        let at = asks.map_or(session.facts.last_at, |event| event.at);
        let paid = TokenCost {
            tokens: session.spent.usage.total().saturating_sub(w.booked.usage.total()),
            cost_micros: session.spent.cost_micros.saturating_sub(w.booked.cost_micros),
        };
        let nothing = paid == TokenCost::default();
        if !at.is_known() || (nothing && asks.is_none()) {
            return Ok(Vec::new());
        }
        let event = asks.cloned().unwrap_or_else(|| tell(&session.key, at, SharedSpend::default()));
        let whose = project_of(session, &event).map(|folder| format!("project:{folder}"));
        let account = match (&event.body, session.account) {
            (Body::ModelAsked(ask), known) => ask.account.or(known),
            (_, known) => known,
        };
        let rules = self.rules.rules_for(project_of(session, &event));
        if nothing && !rules.budget.is_shared() {
            return Ok(Vec::new());
        }
        let day = day(at);
        let mut book = |name: Option<String>| match name {
            Some(name) => transaction.add_ledger_spend(day, &name, &paid),
            None => Ok(TokenCost::default()),
        };
        let shared = SharedSpend {
            day,
            project: book(whose)?,
            account: book(account.map(|account| format!("account:{account}")))?,
        };
        w.booked = session.spent;
        if !rules.budget.is_shared() {
            return Ok(Vec::new());
        }
        let told = tell(&w.held.session.key, at, shared);
        Ok(self.apply_event(transaction, w, &told)?.decision.effects)
    }
}

fn day(at: Timestamp) -> i64 {
    at.millis().div_euclid(DAY_MILLIS)
}

fn tell(key: &belay_core::SessionKey, at: Timestamp, shared: SharedSpend) -> Event {
    let mut event = Event::new("", key.clone(), Source::Timer, at, Body::SharedSpent(shared));
    // Derived: a second attempt tells the same.
    event.id = event.identity_text();
    event
}
