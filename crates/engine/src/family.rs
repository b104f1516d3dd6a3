//! Sub-agents: what a session costs, its ancestors have cost too.

use belay_core::effect::Spent;
use belay_core::{SessionKey, Time};
use belay_store::{Result, SessionId, Transaction};

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

/// Carries what a session spent in this transaction up to the root.
pub(crate) fn charge(
    transaction: &mut dyn Transaction,
    session: SessionId,
    before: &Spent,
    after: &Spent,
) -> Result<()> {
    let mut cost = Spent {
        calls: after.calls.saturating_sub(before.calls),
        cost_micros: after.cost_micros.saturating_sub(before.cost_micros),
        ..Spent::default()
    };
    cost.usage.input = after.usage.input.saturating_sub(before.usage.input);
    cost.usage.output = after.usage.output.saturating_sub(before.usage.output);
    cost.usage.cache_read = after.usage.cache_read.saturating_sub(before.usage.cache_read);
    cost.usage.cache_write = after.usage.cache_write.saturating_sub(before.usage.cache_write);
    if cost == Spent::default() { Ok(()) } else { transaction.charge_ancestors(session, &cost) }
}
