//! Quotas in the session files of agents that record them.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

use belay_core::Timestamp;
use belay_fs::Links;
use belay_store::{SessionQuery, Store};

use super::row_account;
use crate::state::DaemonState;

/// How often the files of sessions with new events are read.
const INTERVAL: Duration = Duration::from_secs(15);
/// Sessions whose files are read.
const MAX_SESSIONS: usize = 20;
/// The end of a file that is read: some of the newest records.
const TAIL_BYTES: u64 = 64 << 10;
/// At start, sessions this old are looked at.
const FIRST_LOOK: Duration = Duration::from_secs(24 * 60 * 60);

/// Reads the session files from time to time.
#[derive(Debug, Default)]
pub(crate) struct SessionFileQuotas {
    read_at: Option<(Instant, Timestamp)>,
}

impl SessionFileQuotas {
    /// Reads the files of sessions with new events, unless that was done a moment ago, and stores what is known.
    pub(crate) fn poll(&mut self, daemon: &DaemonState) {
        let now = belay_clock::now();
        let since = match self.read_at {
            Some((at, _)) if at.elapsed() < INTERVAL => return,
            Some((_, at)) => at - INTERVAL,
            None => now - FIRST_LOOK,
        };
        self.read_at = Some((Instant::now(), now));
        match daemon.readers.get().and_then(|store| read(daemon, &*store, since)) {
            Ok(()) => {}
            Err(error) => tracing::debug!(%error, "cannot read quotas from session files"),
        }
        daemon.limits.save();
    }
}

fn read(daemon: &DaemonState, store: &dyn Store, since: Timestamp) -> belay_store::Result<()> {
    let query = SessionQuery { since: Some(since), limit: MAX_SESSIONS, archived: true, ..SessionQuery::default() };
    for row in store.sessions(&query)?.rows {
        let Some(path) = &row.details.facts.transcript else { continue };
        let Some(agent) = belay_agents::find(row.key.agent.as_ref()) else { continue };
        let Ok(tail) = tail(Path::new(path)) else { continue };
        for format in agent.transcript_formats() {
            if let Some((at, quotas)) = format.quotas(&tail) {
                let account = row_account(store, &row, daemon.config.paths.user_home())?;
                daemon.limits.report(&account, None, quotas, at);
            }
        }
    }
    Ok(())
}

/// The end of a file. Its first line may be incomplete.
fn tail(path: &Path) -> io::Result<String> {
    let mut file: fs::File = belay_fs::open_regular(path, Links::Follow)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
