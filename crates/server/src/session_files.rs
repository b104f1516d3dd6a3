//! Follows the files of sessions with an open turn: an interrupted turn and an answer in the agent's terminal are told
//! nowhere else.

use std::time::Duration;

use crate::approvals;
use crate::limits::SessionFileQuotas;
use crate::state::DaemonState;

/// How often the files are read. A status follows within two seconds.
const INTERVAL: Duration = Duration::from_secs(1);

/// Runs until shutdown.
pub(crate) fn run(daemon: &DaemonState) {
    let mut quotas = SessionFileQuotas::default();
    while !daemon.lifecycle.shutdown.wait_for(INTERVAL) {
        daemon.hook_state.poll_session_files(&daemon.decisions.committer);
        approvals::record_endings(daemon);
        quotas.poll(daemon);
    }
    approvals::record_endings(daemon);
    daemon.limits.save();
}
