//! Hook calls, decided here for the agents that make them.

use belay_core::{Event, SessionKey, Time, Verdict};
use belay_hooks::{Answer, Ask, Observation, Watch, handle, watch};
use belay_store::Tombstone;
use belay_store::session::SessionRow;

use crate::resident::Shared;

pub(crate) fn answer(shared: &Shared, ask: &Ask) -> Answer {
    handle(&shared.desk, &mut Rope(shared), ask)
}

/// The engine behind its queue, as hooks see it.
struct Rope<'a>(&'a Shared);

impl Watch for Rope<'_> {
    fn observe(&mut self, events: Vec<Event>) -> Vec<Observation> {
        let answers = self.0.writer.observe(events).into_iter();
        answers.map(|answer| watch::observation(answer.map_err(|error| error.to_string()))).collect()
    }

    fn standing(&mut self, session: &SessionKey) -> Verdict {
        self.0.writer.with_engine(|engine| Watch::standing(engine, session))
    }

    fn ran(&mut self, run: &str, session: &SessionKey) {
        crate::proxy::learn(self.0, run, session);
    }

    fn session(&mut self, session: &SessionKey) -> Option<SessionRow> {
        self.0.writer.with_engine(|engine| Watch::session(engine, session))
    }

    fn tombstones(&mut self, project: &str, now: Time) -> Vec<Tombstone> {
        self.0.writer.with_engine(|engine| Watch::tombstones(engine, project, now))
    }

    fn put_tombstone(&mut self, tombstone: &Tombstone) {
        self.0.writer.with_engine(|engine| Watch::put_tombstone(engine, tombstone));
    }
}
