//! Installed agents: version, and when their hooks were last called.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use belay_agents::AgentSpec;
use belay_clock::now;
use belay_hooks::install::InstallRecord;

use super::CheckResult;
use super::hooks::last_event;
use crate::context::Context;
use crate::format::relative_past;

/// Timeout of `AGENT --version`; agents written in JavaScript start slowly.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) fn agents(context: &Context) -> Vec<CheckResult> {
    let found: Vec<(&AgentSpec, PathBuf)> = belay_agents::AGENTS
        .iter()
        .filter_map(|agent| Some((*agent, context.env.find_executable(agent.executable)?)))
        .collect();
    if found.is_empty() {
        return vec![CheckResult::note("agents", "no supported agent is in PATH")];
    }
    // In parallel, because each agent takes up to seconds to start.
    std::thread::scope(|scope| {
        let checks: Vec<_> =
            found.iter().map(|(agent, path)| scope.spawn(move || row(context, agent, path, version(path)))).collect();
        checks.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

fn row(context: &Context, agent: &AgentSpec, path: &std::path::Path, version: Option<String>) -> CheckResult {
    let version = version.unwrap_or_else(|| "version unknown".to_owned());
    let finding = format!("{} {version} ({})", agent.display_name, path.display());
    if let Some(at) = last_event(context, agent) {
        return CheckResult::ok("agent", format!("{finding}; last event {}", relative_past(at, now())));
    }
    if agent.hooks.is_none() {
        return CheckResult::note("agent", format!("{finding}; has no hooks; `belay audit` reads its history"));
    }
    let row = CheckResult::note("agent", format!("{finding}; no events yet"));
    match InstallRecord::all(&context.paths).iter().any(|record| record.agent == agent.id) {
        true => row,
        false => row.fix(format!("belay init --agent {}", agent.id)),
    }
}

/// The first version number in the output of `--version`; `None` on a timeout.
fn version(path: &std::path::Path) -> Option<String> {
    let mut child = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    belay_process::wait_timeout(&mut child, VERSION_TIMEOUT).ok()??;
    let mut text = String::new();
    child.stdout.take()?.take(4096).read_to_string(&mut text).ok()?;
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    text.split_whitespace().map(|word| word.trim_start_matches('v')).find(is_version).map(str::to_owned)
}
