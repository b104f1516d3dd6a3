//! Hook calls, decided here for the agents that make them.

use belay_core::{Event, EventOutcome, SessionKey, Timestamp, Verdict};
use belay_hooks::{Watch, handler, watch};
use belay_ipc::{HookRequest, HookResponse};
use belay_store::Tombstone;
use belay_store::session::SessionRow;

use crate::daemon::DaemonState;

pub(crate) fn handle_hook(shared: &DaemonState, ask: &HookRequest) -> HookResponse {
    handler::handle_hook(&shared.hook_state, &mut Rope(shared), ask)
}

/// The engine behind its queue, as hooks see it.
struct Rope<'a>(&'a DaemonState);

impl Watch for Rope<'_> {
    fn observe(&mut self, events: Vec<Event>) -> Vec<EventOutcome> {
        self.0.writer.observe(events).into_iter().filter_map(watch::accepted).collect()
    }

    fn session_verdict(&mut self, session: &SessionKey) -> Verdict {
        self.0.writer.with_engine(|engine| Watch::session_verdict(engine, session))
    }

    fn bind_run_session(&mut self, run: &str, session: &SessionKey) {
        crate::proxy_service::bind_run_session(self.0, run, session);
    }

    fn session(&mut self, session: &SessionKey) -> Option<SessionRow> {
        self.0.writer.with_engine(|engine| Watch::session(engine, session))
    }

    fn tombstones(&mut self, project: &str, now: Timestamp) -> Vec<Tombstone> {
        self.0.writer.with_engine(|engine| Watch::tombstones(engine, project, now))
    }

    fn put_tombstone(&mut self, tombstone: &Tombstone) {
        self.0.writer.with_engine(|engine| Watch::put_tombstone(engine, tombstone));
    }
}
