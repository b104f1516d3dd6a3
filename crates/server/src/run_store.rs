//! Persists what agents started by `belay run` depend on: the upstreams that users chose, and Belay's address.
//!
//! Such an agent knows only that address. After a restart of the resident process, its request may arrive before the run
//! is registered again, or the run may never be, because `belay run` was killed. Without the stored upstreams, its API
//! key would be sent to the default upstream; without the address, it would have no model.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;

use belay_config::Paths;
use belay_core::SessionKey;
use belay_drive::run_dir;
use belay_fs::FileMode;
use belay_proxy::{Relay, UpstreamConfig, UpstreamConfigError};
use serde::{Deserialize, Serialize};

use crate::sync::lock;

/// Maximum number of runs retained, newest first.
const MAX_RUNS: usize = 1024;

/// Runs with their own upstreams or an address.
#[derive(Debug)]
pub(crate) struct RunStore {
    paths: Paths,
    runs: Mutex<Vec<StoredRun>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct StoredRun {
    run: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    upstreams: BTreeMap<String, String>,
    /// Where its requests go, until the run ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<SocketAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionKey>,
}

impl StoredRun {
    fn is_empty(&self) -> bool {
        self.upstreams.is_empty() && self.address.is_none()
    }

    /// Its agent depends on the proxy and has not exited.
    fn needs_proxy(&self, paths: &Paths) -> bool {
        let id = self.run.rsplit_once(':').map_or(&*self.run, |(_, id)| id);
        self.address.is_some() && run_dir::is_alive(paths, id)
    }
}

impl RunStore {
    /// Loads the runs of the previous resident process.
    pub(crate) fn load(paths: &Paths) -> Self {
        let runs = match std::fs::read(file(paths)) {
            Ok(text) => serde_json::from_slice(&text).unwrap_or_else(|error| {
                tracing::warn!(%error, "cannot read the stored runs");
                Vec::new()
            }),
            Err(_) => Vec::new(),
        };
        Self { paths: paths.clone(), runs: Mutex::new(runs) }
    }

    /// Registers all stored runs with the relay.
    pub(crate) fn restore_into(&self, relay: &Relay) {
        for StoredRun { run, upstreams, session, .. } in lock(&self.runs).iter() {
            if let Err(error) = begin(relay, run, upstreams) {
                tracing::warn!(run, %error, "stored upstream of a run is invalid");
            }
            if let Some(session) = session {
                relay.bind_run_session(run, session);
            }
        }
    }

    /// The addresses that agents which are still alive send their requests to.
    pub(crate) fn live_addresses(&self) -> Vec<SocketAddr> {
        let runs = lock(&self.runs);
        let mut addresses: Vec<_> =
            runs.iter().filter(|run| run.needs_proxy(&self.paths)).filter_map(|run| run.address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    /// Registers a run and persists its upstreams.
    pub(crate) fn register(
        &self,
        relay: &Relay,
        run: &str,
        upstreams: &BTreeMap<String, String>,
    ) -> Result<(), UpstreamConfigError> {
        begin(relay, run, upstreams)?;
        self.update(run, |stored| stored.upstreams.clone_from(upstreams));
        Ok(())
    }

    /// Persists the address and the session of a run; `None` for the address when it ends.
    pub(crate) fn set_address(&self, run: &str, address: Option<SocketAddr>, session: Option<SessionKey>) {
        self.update(run, |stored| {
            stored.address = address;
            stored.session = session.or(stored.session.take());
        });
    }

    fn update(&self, run: &str, change: impl FnOnce(&mut StoredRun)) {
        let mut runs = lock(&self.runs);
        let known = runs.iter().position(|known| known.run == run);
        let before = known.map(|at| runs.remove(at));
        let mut stored = before.clone().unwrap_or_else(|| StoredRun { run: run.to_owned(), ..StoredRun::default() });
        change(&mut stored);
        let is_unchanged = before.as_ref() == Some(&stored) || before.is_none() && stored.is_empty();
        if !stored.is_empty() {
            runs.push(stored);
        }
        if is_unchanged {
            return;
        }
        let surplus = runs.len().saturating_sub(MAX_RUNS);
        runs.drain(..surplus);
        let text = serde_json::to_vec(&*runs).unwrap_or_default();
        if let Err(error) = belay_fs::atomic_write(&file(&self.paths), &text, FileMode::Private) {
            tracing::warn!(%error, "cannot persist a run");
        }
    }
}

fn file(paths: &Paths) -> PathBuf {
    paths.state().join("runs.json")
}

fn begin(relay: &Relay, run: &str, upstreams: &BTreeMap<String, String>) -> Result<(), UpstreamConfigError> {
    let config = |(name, url)| UpstreamConfig { plaintext: true, ..UpstreamConfig::new(name, url) };
    let upstreams: Vec<UpstreamConfig> = upstreams.iter().map(config).collect();
    relay.begin_run(run, &upstreams)
}
