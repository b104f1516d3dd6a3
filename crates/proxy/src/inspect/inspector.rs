//! State shared by the inspections of all exchanges.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use belay_core::repetition::RepetitionRules;

use super::inspection::ExchangeInspection;
use super::recorder::Recorder;
use super::request_meta::RequestMeta;
use super::session_cache::SessionCache;
use crate::routes::OpenExchange;
use crate::supervisor::Supervisor;
use crate::sync::lock;

/// Starts inspections and holds their shared state.
pub(crate) struct Inspector {
    pub(super) supervisor: Arc<dyn Supervisor>,
    pub(super) recorder: Recorder,
    /// When a response counts as degenerate. `None` switches the check off.
    pub(super) repetition: Option<RepetitionRules>,
    sessions: Mutex<SessionCache>,
}

impl std::fmt::Debug for Inspector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspector").finish_non_exhaustive()
    }
}

impl Inspector {
    pub(crate) fn new(supervisor: Arc<dyn Supervisor>, repetition: Option<RepetitionRules>) -> std::io::Result<Self> {
        let recorder = Recorder::start(Arc::clone(&supervisor))?;
        Ok(Self { supervisor, recorder, repetition, sessions: Mutex::default() })
    }

    /// Starts the inspection of one exchange. `of_run` is released when the exchange is recorded.
    pub(crate) fn start(self: &Arc<Self>, meta: RequestMeta, of_run: Option<OpenExchange>) -> ExchangeInspection {
        ExchangeInspection::new(Arc::clone(self), Arc::new(meta), of_run)
    }

    /// Waits until the supervisor has observed everything recorded so far, or until the timeout.
    pub(crate) fn flush(&self, timeout: Duration) {
        self.recorder.flush(timeout);
    }

    /// Waits briefly while the recorder lags behind.
    pub(crate) async fn wait_for_capacity(&self) {
        self.recorder.wait_for_capacity().await;
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, SessionCache> {
        lock(&self.sessions)
    }
}
