//! The model APIs that users had chosen for their runs, in a file.
//!
//! An agent that was started by `belay run` knows nothing but our address. A resident process that begins anew hears of
//! its run again within a moment, but a request may come before that, and an agent may outlive its run. With its key it
//! would go to the API that everybody uses, to whom that key was never to be given.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use belay_config::atomic_file;
use belay_proxy::{Relay, UpstreamConfig, UpstreamConfigError};
use serde::{Deserialize, Serialize};

/// The newest so many are kept.
const MAX_RUNS: usize = 1024;

/// The runs with model APIs of their own.
#[derive(Debug)]
pub(crate) struct RunStore {
    file: PathBuf,
    runs: Mutex<Vec<StoredRun>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StoredRun {
    run: String,
    upstreams: BTreeMap<String, String>,
}

impl RunStore {
    /// What the last resident process knew.
    pub(crate) fn load(file: PathBuf) -> Self {
        let runs = match std::fs::read(&file) {
            Ok(text) => serde_json::from_slice(&text).unwrap_or_else(|error| {
                tracing::warn!(%error, "the runs of the last resident process cannot be read");
                Vec::new()
            }),
            Err(_) => Vec::new(),
        };
        Self { file, runs: Mutex::new(runs) }
    }

    /// Tells the relay of all of them.
    pub(crate) fn restore_into(&self, relay: &Relay) {
        for StoredRun { run, upstreams } in self.runs.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            if let Err(error) = begin(relay, run, upstreams) {
                tracing::warn!(run, %error, "the model API of a run cannot be used any more");
            }
        }
    }

    /// A run begins; whoever is told so may rely on it.
    pub(crate) fn register(
        &self,
        relay: &Relay,
        run: &str,
        upstreams: &BTreeMap<String, String>,
    ) -> Result<(), UpstreamConfigError> {
        begin(relay, run, upstreams)?;
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let known = runs.iter().position(|known| known.run == run);
        if known.map(|at| &runs[at].upstreams) == Some(upstreams).filter(|upstreams| !upstreams.is_empty()) {
            return Ok(());
        }
        known.map(|at| runs.remove(at));
        if !upstreams.is_empty() {
            runs.push(StoredRun { run: run.to_owned(), upstreams: upstreams.clone() });
        }
        let surplus = runs.len().saturating_sub(MAX_RUNS);
        runs.drain(..surplus);
        let text = serde_json::to_vec(&*runs).unwrap_or_default();
        if let Err(error) = atomic_file::write(&self.file, &text, atomic_file::FileMode::Private) {
            tracing::warn!(%error, "the model API of a run is not known to the next resident process");
        }
        Ok(())
    }
}

fn begin(relay: &Relay, run: &str, upstreams: &BTreeMap<String, String>) -> Result<(), UpstreamConfigError> {
    let config = |(name, url)| UpstreamConfig { plaintext: true, ..UpstreamConfig::new(name, url) };
    let upstreams: Vec<UpstreamConfig> = upstreams.iter().map(config).collect();
    relay.begin_run(run, &upstreams)
}
