//! What a hook needs of the engine. Faults are logged here: the agent continues regardless.

use belay_core::{Event, EventOutcome, SessionKey, Timestamp, Verdict};
use belay_engine::{Engine, EngineAccess, MAX_ANCESTORS};
use belay_store::session::SessionRow;
use belay_store::{Durability, Store, Tombstone};

/// Records events; the outcomes of those that were accepted, in their order.
pub(crate) fn observe(engine: &dyn EngineAccess, events: Vec<Event>) -> Vec<EventOutcome> {
    let results = engine.observe(events).into_iter();
    let log = |error: &_| tracing::warn!(%error, "a hook's event was refused; the agent continues");
    results.filter_map(|result| result.inspect_err(log).ok()).collect()
}

/// The verdict that follows from the session's state alone.
pub(crate) fn session_verdict(engine: &dyn EngineAccess, session: &SessionKey) -> Verdict {
    engine.query(|engine| verdict_by_state(engine, session)).unwrap_or_default()
}

/// Whether a person or a finding holds the session, or one that it is a sub-agent of.
pub fn is_held(engine: &dyn EngineAccess, session: &SessionKey) -> bool {
    matches!(session_verdict(engine, session), Verdict::Hold { .. } | Verdict::Stop { .. })
}

/// The session that the sub-agent `of` ultimately belongs to; `of` itself if it is not a sub-agent.
pub fn root_session(engine: &dyn EngineAccess, of: &SessionKey) -> SessionKey {
    let mut root = of.clone();
    for _ in 0..MAX_ANCESTORS {
        let Some(parent) = session(engine, &root).and_then(|row| row.parent) else { break };
        root = parent;
    }
    root
}

/// A held session also holds its sub-agents.
fn verdict_by_state(engine: &Engine, session: &SessionKey) -> Verdict {
    // While the store cannot be written, a hold may exist in memory only.
    let store = engine.store().filter(|_| engine.health().fault.is_none());
    let mut next = Some(session.clone());
    // The bound also ends a cycle of parents.
    for _ in 0..=MAX_ANCESTORS {
        let Some(key) = next else { break };
        // The row is cheap; the complete session is needed only for the reason.
        let row = store.and_then(|store| store.session(&key).ok().flatten());
        next = match row.filter(|row| !row.state.is_paused() && !row.state.is_killed()) {
            Some(row) => row.parent,
            None => match engine.session(&key) {
                Ok(None) => None,
                Ok(Some(session)) => match session.hold_verdict() {
                    Verdict::Go => session.parent,
                    held => return held,
                },
                Err(error) => {
                    tracing::warn!(session = %key, %error, "cannot read a session's state; its agent continues");
                    None
                }
            },
        };
    }
    Verdict::Go
}

pub(crate) fn session(engine: &dyn EngineAccess, session: &SessionKey) -> Option<SessionRow> {
    engine.query(|engine| engine.store()?.session(session).ok().flatten()).flatten()
}

/// Tombstones of earlier sessions in the same project; newest first.
pub(crate) fn tombstones(engine: &dyn EngineAccess, project: &str, now: Timestamp) -> Vec<Tombstone> {
    engine.query(|engine| engine.store()?.tombstones(Some(project), now).ok()).flatten().unwrap_or_default()
}

/// Replaces a tombstone, to change when it expires.
pub(crate) fn put_tombstone(engine: &dyn EngineAccess, tombstone: &Tombstone) {
    let written = engine.query(|engine| engine.store_mut().map(|store| put(store, tombstone))).flatten();
    if let Some(Err(error)) = written {
        tracing::warn!(%error, "cannot write a tombstone");
    }
}

fn put(store: &mut dyn Store, tombstone: &Tombstone) -> belay_store::Result<()> {
    let mut transaction = store.begin(Durability::ProcessCrash)?;
    transaction.put_tombstone(tombstone)?;
    transaction.commit()
}
