//! Runs a hook as the agent would, and checks that its event is recorded.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use belay_agents::install::{HookInstaller, InstallContext};
use belay_core::SessionKey;
use belay_store::{Access, EventQuery, StoreUrl};

/// Prefix of test sessions.
pub const SELF_TEST_SESSION_PREFIX: &str = "belay-self-test-";

/// The timeout of an agent.
const SELF_TEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a hook does not work.
#[derive(Debug, thiserror::Error)]
pub enum SelfTestError {
    #[error("cannot start the hook `{command}`: {problem}")]
    Start { command: String, problem: String },
    #[error("the hook `{command}` exited with {status}: {said}")]
    Failed { command: String, status: String, said: String },
    #[error("the hook `{command}` timed out")]
    TimedOut { command: String },
    #[error("the hook `{command}` ran, but its event is not in {}", .store.display())]
    Lost { command: String, store: std::path::PathBuf },
}

/// Runs the installed command in a shell with the payload of a session start and looks up that session in the store.
/// Returns its key, so that the caller can archive it.
pub fn run_self_test(
    paths: &belay_config::Paths,
    recipe: &dyn HookInstaller,
    setting: &InstallContext<'_>,
) -> Result<SessionKey, SelfTestError> {
    let session = format!("{SELF_TEST_SESSION_PREFIX}{}", uuid::Uuid::now_v7());
    let trial = recipe.self_test_call(setting, &session);
    let command = trial.command.clone();
    let start =
        |problem: std::io::Error| SelfTestError::Start { command: command.clone(), problem: problem.to_string() };
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &trial.command]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = shell.spawn().map_err(start)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that does not read its input fails below.
        let _ = stdin.write_all(trial.payload.as_bytes());
    }
    if belay_process::wait_timeout(&mut child, SELF_TEST_TIMEOUT).map_err(start)?.is_none() {
        return Err(SelfTestError::TimedOut { command });
    }
    let output = child.wait_with_output().map_err(start)?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if !output.status.success() || !said.is_empty() {
        return Err(SelfTestError::Failed { command, status: output.status.to_string(), said });
    }
    let key = SessionKey::new(recipe.agent(), session);
    let database = paths.database();
    let store = belay_store::open(&StoreUrl::local(&database), Access::Read);
    let query = EventQuery { session: Some(key.clone()), limit: 1, ..EventQuery::default() };
    match store.and_then(|store| store.events(&query)) {
        Ok(events) if !events.is_empty() => Ok(key),
        _ => Err(SelfTestError::Lost { command, store: database }),
    }
}
