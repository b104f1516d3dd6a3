//! What a hook needs of the engine, in whichever process it runs.

use belay_core::{Decision, Event, SessionKey, Timestamp, Verdict};
use belay_engine::Engine;
use belay_store::session::SessionRow;
use belay_store::{Durability, Store, Tombstone};

/// The answer to one event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    pub decision: Decision,
    /// Nobody had told of it before.
    pub fresh: bool,
}

/// The engine as hooks see it. Faults are the implementor's to log: a hook goes on regardless.
pub trait Watch {
    /// Takes events in; one answer each, in their order.
    fn observe(&mut self, events: Vec<Event>) -> Vec<Observation>;

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
    fn observe(&mut self, events: Vec<Event>) -> Vec<Observation> {
        let answers = self.observe_batch(events).into_iter();
        answers.map(|answer| observation(answer.map_err(|error| error.to_string()))).collect()
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

/// An engine's answer, or the agent goes on.
pub fn observation(answer: Result<belay_engine::EventOutcome, String>) -> Observation {
    match answer {
        Ok(observed) => {
            let fresh = !observed.decision.duplicate;
            Observation { decision: observed.decision, fresh }
        }
        Err(error) => {
            tracing::warn!(%error, "an event of a hook was not taken; the agent goes on");
            Observation::default()
        }
    }
}
