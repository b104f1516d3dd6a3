//! Budgets that sessions share: what one of them spends, the others of its project and account have left no more.

use belay_core::event::{Paid, SharedSpent};
use belay_core::{Body, Effect, Event, Session, Source, Time};
use belay_store::{Result, Transaction};

use crate::batch::{Desk, Table, project};

const DAY_MILLIS: i64 = 86_400_000;

impl Desk<'_> {
    /// Whether an event has to wait until all that was spent is booked: a question by one who shares a budget, or whose
    /// answers others will pay for from now on. Everybody else is booked once, at the end.
    pub(crate) fn settles_first(&self, session: &Session, event: &Event) -> bool {
        let Body::ModelAsked(ask) = &event.body else { return false };
        let is_paid_by_others = ask.account.is_some() && ask.account != session.account;
        !ask.auxiliary && (is_paid_by_others || self.rules.rules_for(project(session, event)).budget.is_shared())
    }

    /// Books what a session has spent since it was last booked, and lets it know what is spent in all. Returns
    /// what follows. With `asks` it is told even if it spent nothing: others may have.
    pub(crate) fn share(
        &mut self,
        transaction: &mut dyn Transaction,
        table: &mut Table,
        place: usize,
        asks: Option<&Event>,
    ) -> Result<Vec<Effect>> {
        let w = &mut table.working[place];
        let session = &w.held.session;
        let at = asks.map_or(session.facts.last_at, |event| event.at);
        let paid = Paid {
            tokens: session.spent.usage.total().saturating_sub(w.booked.usage.total()),
            cost_micros: session.spent.cost_micros.saturating_sub(w.booked.cost_micros),
        };
        let nothing = paid == Paid::default();
        if !at.is_known() || (nothing && asks.is_none()) {
            return Ok(Vec::new());
        }
        let event = asks.cloned().unwrap_or_else(|| tell(&session.key, at, SharedSpent::default()));
        let whose = project(session, &event).map(|folder| format!("project:{folder}"));
        let account = match (&event.body, session.account) {
            (Body::ModelAsked(ask), known) => ask.account.or(known),
            (_, known) => known,
        };
        let rules = self.rules.rules_for(project(session, &event));
        if nothing && !rules.budget.is_shared() {
            return Ok(Vec::new());
        }
        let day = at.millis().div_euclid(DAY_MILLIS);
        let mut book = |name: Option<String>| match name {
            Some(name) => transaction.book(day, &name, &paid),
            None => Ok(Paid::default()),
        };
        let shared = SharedSpent {
            day,
            project: book(whose)?,
            account: book(account.map(|account| format!("account:{account}")))?,
        };
        w.booked = session.spent;
        if !rules.budget.is_shared() {
            return Ok(Vec::new());
        }
        let told = tell(&w.held.session.key, at, shared);
        Ok(self.take_in(transaction, w, &told)?.decision.effects)
    }
}

fn tell(key: &belay_core::SessionKey, at: Time, shared: SharedSpent) -> Event {
    let mut event = Event::new("", key.clone(), Source::Timer, at, Body::SharedSpent(shared));
    // Derived: a second attempt tells the same.
    event.id = event.identity();
    event
}
