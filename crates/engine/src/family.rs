//! Sub-agents: what a session costs, its ancestors have cost too; and who holds a session holds its sub-agents.

use belay_core::effect::Spent;
use belay_core::event::SubAgentsSpent;
use belay_core::{Body, Event, SessionKey, Source, Time, Verdict};
use belay_store::{Result, SessionId, Transaction};

use crate::batch::{Desk, Table, Working, holds, project};

/// How far up the family tree we look.
pub(crate) const MAX_DEPTH: usize = 32;

/// The session turned out to be a sub-agent: what it and its own have cost so far counts for its ancestors.
pub(crate) fn link(
    transaction: &mut dyn Transaction,
    child: SessionId,
    so_far: &Spent,
    parent: &SessionKey,
    at: Time,
) -> Result<()> {
    let parent = match transaction.head(parent)? {
        Some(head) => head,
        None => transaction.create(parent, at)?,
    };
    if transaction.adopt(child, parent.id)? {
        let mut cost = transaction.beneath(child)?;
        cost.calls = cost.calls.saturating_add(so_far.calls);
        cost.usage.add(&so_far.usage);
        cost.cost_micros = cost.cost_micros.saturating_add(so_far.cost_micros);
        transaction.charge_ancestors(child, &cost)?;
    }
    Ok(())
}

impl Desk<'_> {
    /// What the nearest ancestor that is held says to anything asked: `Go` when none is.
    pub(crate) fn ask_ancestors(
        &mut self,
        transaction: &mut dyn Transaction,
        table: &mut Table,
        of: usize,
    ) -> Result<Verdict> {
        for ancestor in self.ancestors(transaction, table, of)? {
            match table.working[ancestor].held.session.standing() {
                Verdict::Go => {}
                held => return Ok(held),
            }
        }
        Ok(Verdict::Go)
    }

    /// Carries what was spent here up to the root, and lets those with a budget know. Returns whether that held one
    /// of them.
    pub(crate) fn tell_ancestors(&mut self, transaction: &mut dyn Transaction, table: &mut Table) -> Result<bool> {
        let mut charged = Vec::new();
        for child in 0..table.working.len() {
            let Working { held, spent, .. } = &table.working[child];
            let cost = difference(&held.session.spent, spent);
            if held.session.parent.is_none() || cost == Spent::default() {
                continue;
            }
            transaction.charge_ancestors(held.id, &cost)?;
            let at = held.session.facts.last_at;
            for ancestor in self.ancestors(transaction, table, child)? {
                if !charged.iter().any(|(known, _)| *known == ancestor) {
                    charged.push((ancestor, at));
                }
            }
        }
        let mut held = false;
        for (ancestor, at) in charged {
            let w = &mut table.working[ancestor];
            let beneath = transaction.beneath(w.held.id)?;
            let body = Body::SubAgentsSpent(SubAgentsSpent { beneath });
            let mut event = Event::new("", w.held.session.key.clone(), Source::Timer, at, body);
            // Derived: a second attempt tells the same.
            event.id = event.identity();
            let rules = self.rules.rules_for(project(&w.held.session, &event));
            if w.held.session.has_budget(&rules) {
                let answer = self.take_in(transaction, w, &event)?;
                held |= answer.decision.effects.iter().any(holds);
            }
        }
        Ok(held)
    }

    /// Where the ancestors of a session are on the table, nearest first.
    fn ancestors(&mut self, transaction: &mut dyn Transaction, table: &mut Table, of: usize) -> Result<Vec<usize>> {
        let mut found = Vec::new();
        let mut at = of;
        while found.len() < MAX_DEPTH {
            let session = &table.working[at].held.session;
            let Some(parent) = session.parent.clone() else { break };
            let heard_of = session.facts.last_at;
            at = self.seat(transaction, table, &parent, heard_of)?;
            if at == of || found.contains(&at) {
                break;
            }
            found.push(at);
        }
        Ok(found)
    }
}

fn difference(now: &Spent, before: &Spent) -> Spent {
    let mut cost = Spent {
        calls: now.calls.saturating_sub(before.calls),
        cost_micros: now.cost_micros.saturating_sub(before.cost_micros),
        ..Spent::default()
    };
    cost.usage.input = now.usage.input.saturating_sub(before.usage.input);
    cost.usage.output = now.usage.output.saturating_sub(before.usage.output);
    cost.usage.cache_read = now.usage.cache_read.saturating_sub(before.usage.cache_read);
    cost.usage.cache_write = now.usage.cache_write.saturating_sub(before.usage.cache_write);
    cost
}
