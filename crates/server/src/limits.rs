//! What this process learns about the limits of accounts. Whether a run may start, [`Limits`](belay_drive::limits::Limits) answers.

mod session_files;

use std::path::Path;

use belay_core::SessionKey;
use belay_drive::limits::AccountId;
use belay_store::{SessionRow, Store};

use crate::state::DaemonState;

pub(crate) use session_files::SessionFileQuotas;

/// How deep sub-agents of sub-agents are looked at.
const MAX_DEPTH: u32 = 4;

/// The account of a session; without a readable store, that of the agent's usual directory.
pub(crate) fn session_account(daemon: &DaemonState, session: &SessionKey) -> AccountId {
    let home = daemon.config.paths.user_home();
    let found = daemon.readers.get().and_then(|store| {
        let Some(row) = store.session(session)? else { return Ok(None) };
        row_account(&*store, &row, home).map(Some)
    });
    found.ok().flatten().unwrap_or_else(|| account(session, None, home))
}

/// The account of a session, by the place of its session file. Sub-agents without one use that of their parent.
pub(crate) fn row_account(store: &dyn Store, row: &SessionRow, home: Option<&Path>) -> belay_store::Result<AccountId> {
    let mut transcript = row.details.facts.transcript.clone();
    let mut parent = row.parent.clone();
    for _ in 0..MAX_DEPTH {
        let Some(key) = parent.take().filter(|_| transcript.is_none()) else { break };
        let Some(row) = store.session(&key)? else { break };
        (transcript, parent) = (row.details.facts.transcript, row.parent);
    }
    Ok(account(&row.key, transcript.as_deref(), home))
}

fn account(session: &SessionKey, transcript: Option<&str>, home: Option<&Path>) -> AccountId {
    match belay_agents::find(session.agent.as_ref()) {
        Some(agent) => AccountId::from_transcript(agent, transcript.map(Path::new), home),
        None => AccountId::from_name(session.agent.as_ref()),
    }
}
