//! Follows the files of sessions with an open turn: an interrupted turn and an answer in the agent's terminal are told
//! nowhere else.

use std::time::Duration;

use crate::approvals;
use crate::limits::SessionFileQuotas;
use crate::state::DaemonState;

/// How often the files are read. A status follows within two seconds.
const INTERVAL: Duration = Duration::from_secs(1);

/// Runs until shutdown.
pub(crate) fn run(shared: &DaemonState) {
    let mut quotas = SessionFileQuotas::default();
    while !shared.lifecycle.shutdown.wait_for(INTERVAL) {
        shared.hook_state.poll_session_files(&shared.decisions.committer);
        approvals::record_endings(shared);
        quotas.poll(shared);
    }
    approvals::record_endings(shared);
    shared.limits.save();
}
