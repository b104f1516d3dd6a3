//! What driven work needs from the process it lives in.

use std::fmt;
use std::path::Path;

use belay_config::Config;
use belay_core::Subject;
use belay_core::task::Spend;

/// The resident process, for all drivers.
pub trait DriverHost: Send + Sync + fmt::Debug {
    /// The user's configuration, read again: a change needs no restart.
    fn config(&self) -> Result<Config, String>;

    /// A task changed, or the queue of its driver. Called often while an agent works.
    fn task_changed(&self, task: &Subject);

    /// Whether a person or Belay holds this session (`agent:id`).
    fn is_held(&self, session: &str) -> bool;

    /// What a session (`agent:id`) and its sub-agents have cost so far, as Belay has observed it.
    fn session_spend(&self, session: &str) -> Option<Spend>;

    /// Whether a session that has not ended works below this directory.
    fn has_live_session(&self, dir: &Path) -> bool;
}
