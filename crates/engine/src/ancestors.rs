//! Sub-agents: a session's spend counts towards its ancestors, and a held session holds its descendants.

use belay_core::effect::Spend;
use belay_core::event::SubAgentSpend;
use belay_core::{Body, Event, SessionKey, Source, Timestamp, Verdict};
use belay_store::{Result, SessionId, Transaction};

use crate::rules_cache::RulesScope;
use crate::shared_budgets::tolerate_fault;
use crate::transaction::{BatchContext, BatchSessions, SessionInBatch, is_hold_effect};

/// Maximum number of ancestors considered.
pub const MAX_ANCESTORS: usize = 32;

/// Links a session to its parent and charges the ancestors for what it and its descendants have spent so far.
pub(crate) fn link_parent(
    transaction: &mut dyn Transaction,
    child: SessionId,
    spent: &Spend,
    parent: &SessionKey,
    at: Timestamp,
) -> Result<()> {
    let parent = match transaction.session_head(parent)? {
        Some(head) => head,
        None => transaction.create(parent, at)?,
    };
    if transaction.set_parent(child, parent.id)? {
        let mut cost = transaction.descendant_spend(child)?;
        cost.add(&Spend { millis: 0, ..*spent });
        transaction.charge_ancestors(child, &cost)?;
    }
    Ok(())
}

impl BatchContext<'_> {
    /// The verdict of the nearest held ancestor; `Go` if none is held.
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

    /// Gives a sub-agent the settings of the nearest ancestor that has some. The agent itself must name its parent in this
    /// event: any program can report another one, and would take the settings of a run that a person only observes.
    pub(crate) fn inherit_settings(
        &mut self,
        transaction: &mut dyn Transaction,
        table: &mut BatchSessions,
        of: usize,
        event: &Event,
    ) -> Result<()> {
        let session = &table.working[of].held.session;
        let is_named = event.parent.is_some() && event.parent == session.parent && event.source != Source::Unverified;
        if !is_named || RulesScope::settings(session).is_some() {
            return Ok(());
        }
        let ancestors = self.ancestors(transaction, table, of)?;
        let settings = ancestors.iter().map(|ancestor| &table.working[*ancestor].held.session.settings);
        if let Some(settings) = settings.into_iter().find(|settings| !settings.is_empty()).cloned() {
            table.working[of].held.session.settings = settings;
        }
        Ok(())
    }

    /// Charges the batch's spend to all ancestors and records it as an event in those with a budget. Returns whether
    /// that put one of them on hold.
    pub(crate) fn propagate_spend(
        &mut self,
        transaction: &mut dyn Transaction,
        table: &mut BatchSessions,
    ) -> Result<bool> {
        let mut charged = Vec::new();
        for child in 0..table.working.len() {
            let SessionInBatch { held, spent, .. } = &table.working[child];
            // Sub-agents run side by side: their wall time does not add up.
            let cost = Spend { millis: 0, ..held.session.spent.saturating_sub(spent) };
            if held.session.parent.is_none() || cost == Spend::default() {
                continue;
            }
            let charged_all = transaction.charge_ancestors(held.id, &cost);
            tolerate_fault(charged_all, &held.session.key, self.metrics)?;
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
            let beneath = transaction.descendant_spend(w.held.id);
            let beneath = tolerate_fault(beneath, &w.held.session.key, self.metrics)?;
            if beneath == Spend::default() {
                continue;
            }
            let body = Body::SubAgentsSpent(SubAgentSpend { beneath });
            let mut event = Event::new("", w.held.session.key.clone(), Source::Timer, at, body);
            // Derived, so that a retry produces the same event.
            event.id = event.identity_text();
            let rules = self.rules.rules_for(RulesScope::for_event(&w.held.session, &event));
            if w.held.session.has_budget(&rules) {
                let outcome = self.apply_event(transaction, w, &event)?;
                held |= outcome.decision.effects.iter().any(is_hold_effect);
            }
        }
        Ok(held)
    }

    /// Indices of a session's ancestors in the batch, nearest first.
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
            let last_at = session.facts.last_at;
            at = self.session_index(transaction, table, &parent, last_at)?;
            if at == of || found.contains(&at) {
                break;
            }
            found.push(at);
        }
        Ok(found)
    }
}
