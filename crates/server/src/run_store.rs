//! Persists the state that agents of `belay run` depend on: their upstreams and Belay's address.
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
use belay_fs::{FileMode, Links};
use belay_proxy::{Relay, UpstreamConfig, UpstreamConfigError};
use serde::{Deserialize, Serialize};

use crate::sync::lock;

/// Maximum number of runs retained, newest first.
const MAX_RUNS: usize = 1024;

/// Maximum size of the file.
const MAX_BYTES: u64 = 16 << 20;

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
    /// The run is over, but its upstreams are still needed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ended: bool,
    /// Its agent was seen running. It is registered before it starts.
    #[serde(skip)]
    was_alive: bool,
}

impl StoredRun {
    fn is_empty(&self) -> bool {
        self.upstreams.is_empty() && self.address.is_none()
    }

    /// Its agent depends on the proxy and has not exited.
    fn needs_proxy(&self, paths: &Paths) -> bool {
        self.address.is_some() && self.is_alive(paths)
    }

    fn is_alive(&self, paths: &Paths) -> bool {
        let id = self.run.rsplit_once(':').map_or(&*self.run, |(_, id)| id);
        run_dir::is_alive(paths, id)
    }
}

impl RunStore {
    /// Loads the runs of the previous resident process.
    pub(crate) fn load(paths: &Paths) -> Self {
        let runs = match belay_fs::read_regular(&file(paths), Links::Follow, MAX_BYTES) {
            Ok(text) => serde_json::from_slice(&text).unwrap_or_else(|error| {
                tracing::warn!(%error, "cannot read the stored runs");
                Vec::new()
            }),
            Err(_) => Vec::new(),
        };
        Self { paths: paths.clone(), runs: Mutex::new(runs) }
    }

    /// Registers all stored runs with the relay. The key of a run whose agent has exited is no credential; a `belay run`
    /// that is about to start its agent registers it again.
    pub(crate) fn restore_into(&self, relay: &Relay) {
        for stored in lock(&self.runs).iter() {
            let StoredRun { run, upstreams, session, ended, .. } = stored;
            if let Err(error) = begin(relay, run, upstreams) {
                tracing::warn!(run, %error, "stored upstream of a run is invalid");
            }
            if let Some(session) = session {
                relay.bind_run_session(run, session);
            }
            if *ended || !stored.is_alive(&self.paths) {
                relay.end_run(run);
            }
        }
    }

    /// Ends the runs whose agent has exited after their `belay run` was killed.
    pub(crate) fn end_exited(&self, relay: &Relay) {
        let mut exited = Vec::new();
        for stored in lock(&self.runs).iter_mut().filter(|stored| !stored.ended) {
            let is_alive = stored.is_alive(&self.paths);
            if stored.was_alive && !is_alive {
                exited.push(stored.run.clone());
            }
            stored.was_alive = is_alive;
        }
        for run in exited {
            self.end(relay, &run);
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
        self.update(run, |stored| {
            stored.upstreams.clone_from(upstreams);
            stored.ended = false;
        });
        Ok(())
    }

    /// Ends a run: its key is no credential any more.
    pub(crate) fn end(&self, relay: &Relay, run: &str) {
        relay.end_run(run);
        self.update(run, |stored| {
            stored.address = None;
            stored.ended = true;
        });
    }

    /// Persists the address and the session of a run.
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use belay_config::EnvSnapshot;
    use belay_net::PeerUser;
    use belay_proxy::{AllowAll, BoxFuture, Config, LocalService, PrefixedIo};
    use rustix::fs::{FlockOperation, flock};

    use super::*;

    struct NoService;

    impl LocalService for NoService {
        fn serve(&self, _: PrefixedIo, _: PeerUser) -> BoxFuture<Option<PrefixedIo>> {
            Box::pin(std::future::ready(None))
        }
    }

    fn relay() -> Relay {
        Relay::new(&Config::default(), Arc::new(NoService), Arc::new(AllowAll)).expect("a relay")
    }

    const RUN: &str = "codex:0190aaaa";

    /// A store with one registered run, and the lock of its agent.
    fn store_with_run() -> (tempfile::TempDir, Paths, RunStore, Relay, File) {
        let dir = tempfile::tempdir().expect("a directory");
        let paths = Paths::resolve(&EnvSnapshot::default(), Some(dir.path())).expect("paths");
        paths.create().expect("the state directory");
        std::fs::create_dir_all(paths.state().join("runs")).expect("a directory");
        let lock = File::create(paths.state().join("runs/0190aaaa.lock")).expect("a lock");
        let (store, relay) = (RunStore::load(&paths), relay());
        let upstreams = BTreeMap::from([("openai".to_owned(), "https://models.example/v1".to_owned())]);
        store.register(&relay, RUN, &upstreams).expect("a run");
        store.set_address(RUN, Some(([127, 0, 0, 1], 8787).into()), None);
        (dir, paths, store, relay, lock)
    }

    #[test]
    fn the_key_of_a_run_is_valid_until_the_run_ends() {
        let (_dir, paths, store, relay_before, lock) = store_with_run();
        flock(&lock, FlockOperation::LockExclusive).expect("the agent starts");
        store.end_exited(&relay_before);
        assert!(relay_before.is_active_run(RUN));
        let after_restart = relay();
        RunStore::load(&paths).restore_into(&after_restart);
        assert!(after_restart.is_active_run(RUN), "its agent runs");
        store.end(&relay_before, RUN);
        assert!(!relay_before.is_active_run(RUN));
        let after_restart = relay();
        RunStore::load(&paths).restore_into(&after_restart);
        assert!(!after_restart.is_active_run(RUN), "the end is stored");
    }

    #[test]
    fn a_run_ends_with_its_agent_if_belay_run_was_killed() {
        let (_dir, paths, store, relay_before, lock) = store_with_run();
        store.end_exited(&relay_before);
        assert!(relay_before.is_active_run(RUN), "its agent has not started yet");
        flock(&lock, FlockOperation::LockExclusive).expect("the agent starts");
        store.end_exited(&relay_before);
        assert!(relay_before.is_active_run(RUN));
        flock(&lock, FlockOperation::Unlock).expect("the agent exits");
        let after_restart = relay();
        RunStore::load(&paths).restore_into(&after_restart);
        assert!(!after_restart.is_active_run(RUN), "its agent has exited while no resident process ran");
        store.end_exited(&relay_before);
        assert!(!relay_before.is_active_run(RUN) && store.live_addresses().is_empty());
    }
}
