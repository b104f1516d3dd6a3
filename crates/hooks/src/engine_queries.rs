//! What a hook needs of the engine, in whichever process it runs.

use belay_core::{Event, EventOutcome, SessionKey, Timestamp, Verdict};
use belay_engine::Engine;
use belay_store::session::SessionRow;
use belay_store::{Durability, Store, Tombstone};

/// The engine as hooks see it. Faults are the implementor's to log: a hook goes on regardless.
pub trait Watch {
    /// Records events; the outcomes of those that were accepted, in their order.
    fn observe(&mut self, events: Vec<Event>) -> Vec<EventOutcome>;

    /// What the session's state alone says to anything the agent asks.
    fn session_verdict(&mut self, session: &SessionKey) -> Verdict;

    /// The session that a `belay run` turned out to be, for its requests that name none.
    fn bind_run_session(&mut self, _run: &str, _session: &SessionKey) {}

    /// What is known of a session.
    fn session(&mut self, session: &SessionKey) -> Option<SessionRow>;

    /// What sessions before this one died of, in the same project; newest first.
    fn tombstones(&mut self, project: &str, now: Timestamp) -> Vec<Tombstone>;

    /// Writes a tombstone anew, to move the time it expires.
    fn put_tombstone(&mut self, tombstone: &Tombstone);
}

impl Watch for Engine {
    fn observe(&mut self, events: Vec<Event>) -> Vec<EventOutcome> {
        self.observe_batch(events).into_iter().filter_map(accepted).collect()
    }

    fn session_verdict(&mut self, session: &SessionKey) -> Verdict {
        // The row is cheap and the authority; the whole session is needed only for the reason.
        match self.store().map(|store| store.session(session)) {
            Some(Ok(Some(row))) if row.state.is_paused() || row.state.is_killed() => {}
            Some(Ok(_)) => return Verdict::Go,
            Some(Err(_)) | None => {}
        }
        match Self::session(self, session) {
            Ok(session) => session.map_or(Verdict::Go, |session| session.hold_verdict()),
            Err(error) => {
                tracing::warn!(%session, %error, "a session's state cannot be read; its agent goes on");
                Verdict::Go
            }
        }
    }

    fn session(&mut self, session: &SessionKey) -> Option<SessionRow> {
        self.store()?.session(session).ok().flatten()
    }

    fn tombstones(&mut self, project: &str, now: Timestamp) -> Vec<Tombstone> {
        let found = self.store().map(|store| store.tombstones(Some(project), now));
        found.transpose().ok().flatten().unwrap_or_default()
    }

    fn put_tombstone(&mut self, tombstone: &Tombstone) {
        let written = self.store_mut().map(|store| put(store, tombstone));
        if let Some(Err(error)) = written {
            tracing::warn!(%error, "a tombstone could not be written");
        }
    }
}

fn put(store: &mut dyn Store, tombstone: &Tombstone) -> belay_store::Result<()> {
    let mut transaction = store.begin(Durability::ProcessCrash)?;
    transaction.put_tombstone(tombstone)?;
    transaction.commit()
}

/// The outcome of one event; `None` if the event was refused: then the agent goes on.
pub fn accepted<E: std::fmt::Display>(outcome: Result<EventOutcome, E>) -> Option<EventOutcome> {
    outcome.inspect_err(|error| tracing::warn!(%error, "an event of a hook was refused; the agent goes on")).ok()
}
