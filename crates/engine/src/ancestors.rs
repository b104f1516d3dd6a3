//! Sub-agents: what a session costs, its ancestors have cost too; and who holds a session holds its sub-agents.

use belay_core::effect::Spend;
use belay_core::event::SubAgentSpend;
use belay_core::{Body, Event, SessionKey, Source, Timestamp, Verdict};
use belay_store::{Result, SessionId, Transaction};

use crate::transaction::{BatchContext, BatchSessions, SessionInBatch, is_hold_effect, project_of};

/// How far up the family tree we look.
pub(crate) const MAX_ANCESTORS: usize = 32;

/// The session turned out to be a sub-agent: what it and its own have cost so far counts for its ancestors.
pub(crate) fn link_parent(
    transaction: &mut dyn Transaction,
    child: SessionId,
    so_far: &Spend,
    parent: &SessionKey,
    at: Timestamp,
) -> Result<()> {
    let parent = match transaction.session_head(parent)? {
        Some(head) => head,
        None => transaction.create(parent, at)?,
    };
    if transaction.set_parent(child, parent.id)? {
        let mut cost = transaction.descendant_spend(child)?;
        cost.calls = cost.calls.saturating_add(so_far.calls);
        cost.usage.add(&so_far.usage);
        cost.cost_micros = cost.cost_micros.saturating_add(so_far.cost_micros);
        transaction.charge_ancestors(child, &cost)?;
    }
    Ok(())
}

impl BatchContext<'_> {
    /// What the nearest ancestor that is held says to anything asked: `Go` when none is.
    pub(crate) fn ancestor_verdict(
        &mut self,
        transaction: &mut dyn Transaction,
        table: &mut BatchSessions,
        of: usize,
    ) -> Result<Verdict> {
        for ancestor in self.ancestors(transaction, table, of)? {
            match table.working[ancestor].held.session.hold_verdict() {
                Verdict::Go => {}
                held => return Ok(held),
            }
        }
        Ok(Verdict::Go)
    }

    /// Carries what was spent here up to the root, and lets those with a budget know. Returns whether that held one
    /// of them.
    pub(crate) fn propagate_spend(
        &mut self,
        transaction: &mut dyn Transaction,
        table: &mut BatchSessions,
    ) -> Result<bool> {
        let mut charged = Vec::new();
        for child in 0..table.working.len() {
            let SessionInBatch { held, spent, .. } = &table.working[child];
            let cost = difference(&held.session.spent, spent);
            if held.session.parent.is_none() || cost == Spend::default() {
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
            let beneath = transaction.descendant_spend(w.held.id)?;
            let body = Body::SubAgentsSpent(SubAgentSpend { beneath });
            let mut event = Event::new("", w.held.session.key.clone(), Source::Timer, at, body);
            // Derived: a second attempt tells the same.
            event.id = event.identity_text();
            let rules = self.rules.rules_for(project_of(&w.held.session, &event));
            if w.held.session.has_budget(&rules) {
                let answer = self.apply_event(transaction, w, &event)?;
                held |= answer.decision.effects.iter().any(is_hold_effect);
            }
        }
        Ok(held)
    }

    /// Where the ancestors of a session are on the table, nearest first.
    fn ancestors(
        &mut self,
        transaction: &mut dyn Transaction,
        table: &mut BatchSessions,
        of: usize,
    ) -> Result<Vec<usize>> {
        let mut found = Vec::new();
        let mut at = of;
        while found.len() < MAX_ANCESTORS {
            let session = &table.working[at].held.session;
            let Some(parent) = session.parent.clone() else { break };
            let heard_of = session.facts.last_at;
            at = self.session_index(transaction, table, &parent, heard_of)?;
            if at == of || found.contains(&at) {
                break;
            }
            found.push(at);
        }
        Ok(found)
    }
}

fn difference(now: &Spend, before: &Spend) -> Spend {
    let mut cost = Spend {
        calls: now.calls.saturating_sub(before.calls),
        cost_micros: now.cost_micros.saturating_sub(before.cost_micros),
        ..Spend::default()
    };
    cost.usage.input = now.usage.input.saturating_sub(before.usage.input);
    cost.usage.output = now.usage.output.saturating_sub(before.usage.output);
    cost.usage.cache_read = now.usage.cache_read.saturating_sub(before.usage.cache_read);
    cost.usage.cache_write = now.usage.cache_write.saturating_sub(before.usage.cache_write);
    cost
}
