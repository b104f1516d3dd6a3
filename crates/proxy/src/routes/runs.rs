//! Runs started by `belay run`: the model APIs that their users configured, and their sessions.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::time::Duration;

use belay_core::SessionKey;

use crate::sync::lock;
use crate::upstream::Upstream;

/// Maximum number of retained runs.
const MAX_RUNS: usize = 4096;

/// The runs, newest first.
#[derive(Debug, Default)]
pub(crate) struct RunRegistry {
    runs: RwLock<VecDeque<RunEntry>>,
}

#[derive(Debug)]
struct RunEntry {
    key: String,
    upstreams: Vec<Arc<Upstream>>,
    session: Option<SessionKey>,
    /// Its key is no longer accepted. Its upstreams still apply: a program that the agent left behind must not send
    /// its API key to the default upstream instead.
    ended: bool,
    exchanges: Arc<OpenExchanges>,
}

/// The exchanges of a run that are not recorded yet.
#[derive(Debug, Default)]
struct OpenExchanges {
    count: Mutex<usize>,
    none_open: Condvar,
}

/// One exchange of a run, until it is recorded.
#[derive(Debug)]
pub(crate) struct OpenExchange(Arc<OpenExchanges>);

impl Drop for OpenExchange {
    fn drop(&mut self) {
        let mut count = lock(&self.0.count);
        *count -= 1;
        if *count == 0 {
            self.0.none_open.notify_all();
        }
    }
}

impl RunRegistry {
    pub(crate) fn begin(&self, run: &str, upstreams: Vec<Arc<Upstream>>) {
        let mut runs = self.runs.write().unwrap_or_else(PoisonError::into_inner);
        // A run that is registered again goes on.
        let again = runs.iter().find(|known| known.key == run);
        let exchanges = again.map(|known| Arc::clone(&known.exchanges)).unwrap_or_default();
        runs.retain(|known| known.key != run);
        runs.truncate(MAX_RUNS - 1);
        runs.push_front(RunEntry { key: run.to_owned(), upstreams, session: None, ended: false, exchanges });
    }

    /// An exchange of this run begins.
    pub(crate) fn open_exchange(&self, run: &str) -> Option<OpenExchange> {
        let exchanges = self.exchanges(run)?;
        *lock(&exchanges.count) += 1;
        Some(OpenExchange(exchanges))
    }

    /// Waits until every exchange of this run is recorded. `false` after the timeout.
    pub(crate) fn wait_for_exchanges(&self, run: &str, timeout: Duration) -> bool {
        let Some(exchanges) = self.exchanges(run) else { return true };
        let waited = exchanges.none_open.wait_timeout_while(lock(&exchanges.count), timeout, |count| *count > 0);
        let (open, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *open == 0
    }

    fn exchanges(&self, run: &str) -> Option<Arc<OpenExchanges>> {
        let runs = self.runs.read().unwrap_or_else(PoisonError::into_inner);
        runs.iter().find(|known| known.key == run).map(|known| Arc::clone(&known.exchanges))
    }

    pub(crate) fn end(&self, run: &str) {
        let mut runs = self.runs.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = runs.iter_mut().find(|known| known.key == run) {
            known.ended = true;
        }
    }

    /// Whether this is the key of a run that has not ended.
    pub(crate) fn is_active(&self, run: &str) -> bool {
        let runs = self.runs.read().unwrap_or_else(PoisonError::into_inner);
        runs.iter().any(|known| known.key == run && !known.ended)
    }

    /// The upstream of this name that the user of a run configured.
    pub(crate) fn upstream(&self, run: &str, name: &str) -> Option<Arc<Upstream>> {
        let runs = self.runs.read().unwrap_or_else(PoisonError::into_inner);
        let run = runs.iter().find(|known| known.key == run)?;
        run.upstreams.iter().find(|upstream| upstream.name == name).cloned()
    }

    pub(crate) fn bind_session(&self, run: &str, session: &SessionKey) {
        // A nested agent inherits the base URL, but does not belong to the session of the run.
        let is_its_agent = run.strip_prefix(&*session.agent).is_some_and(|rest| rest.starts_with(':'));
        if !is_its_agent || self.session(run).as_ref() == Some(session) {
            return;
        }
        let mut runs = self.runs.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = runs.iter_mut().find(|known| known.key == run) {
            known.session = Some(session.clone());
        }
    }

    pub(crate) fn session(&self, run: &str) -> Option<SessionKey> {
        let runs = self.runs.read().unwrap_or_else(PoisonError::into_inner);
        runs.iter().find(|known| known.key == run)?.session.clone()
    }
}
