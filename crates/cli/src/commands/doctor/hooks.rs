//! Hooks that `belay init` has put in: are they still there, and do they speak?

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use belay_agents::install::{InstallContext, Scope};
use belay_agents::spec::HookSpec;
use belay_agents::{AgentSpec, UserDirs, find};
use belay_core::{Source, Timestamp};
use belay_hooks::install::{InstallRecord, SELF_TEST_SESSION_PREFIX, read};
use belay_store::{EventQuery, Order, SessionQuery};

use super::CheckResult;
use crate::context::Context;
use crate::format::{now, relative_past};

const CHECK: &str = "hooks";

/// Session files looked at to tell whether an agent was used.
const MAX_SESSION_FILES: usize = 5_000;

/// An agent writes its files a little after its last hook, or before its first.
const FILE_LAG: Duration = Duration::from_secs(300);

pub(super) fn hooks(context: &Context) -> Vec<CheckResult> {
    let Some(dirs) = UserDirs::for_current_user() else { return Vec::new() };
    let receipts = InstallRecord::all(&context.places);
    receipts.iter().filter_map(|receipt| row(context, &dirs, receipt)).collect()
}

fn row(context: &Context, dirs: &UserDirs, receipt: &InstallRecord) -> Option<CheckResult> {
    let agent = find(&receipt.agent)?;
    let hooks = agent.hooks?;
    let project = receipt.project.clone().unwrap_or_default();
    let place = receipt.project.as_ref().map_or_else(String::new, |project| format!(" in {}", project.display()));
    let name = format!("{}{place}", agent.display_name);
    let again =
        format!("belay init --agent {}{}", agent.id, if receipt.scope() == Scope::Project { " --project" } else { "" });
    if receipt.scope() == Scope::User && !Path::new(&receipt.belay).exists() {
        let finding = format!("the hooks of {name} call {}, which is gone", receipt.belay);
        return Some(CheckResult::failed(CHECK, finding).fix(again));
    }
    let setting =
        InstallContext { dirs, scope: receipt.scope(), project: &project, belay: &receipt.belay, read: &read };
    match hooks.installer.install(&setting) {
        Err(error) => return Some(CheckResult::failed(CHECK, format!("the hooks of {name}: {error}")).fix(again)),
        Ok(changes) if !changes.is_empty() => {
            let finding = format!("the hooks of {name} are not as they were put in ({})", changes[0].path.display());
            return Some(CheckResult::warning(CHECK, finding).fix(again));
        }
        Ok(_) => {}
    }
    if let Some(obstacle) = hooks.installer.blocking_setting(&setting) {
        return Some(CheckResult::warning(CHECK, format!("{name}: in place, but {obstacle}")));
    }
    Some(spoken(context, dirs, hooks, agent, &name, receipt))
}

/// They are in place: has the agent worked without telling us?
fn spoken(
    context: &Context,
    dirs: &UserDirs,
    hooks: &HookSpec,
    agent: &AgentSpec,
    name: &str,
    receipt: &InstallRecord,
) -> CheckResult {
    let heard = last_event(context, agent).filter(|at| *at >= receipt.at);
    let told_until = heard.unwrap_or(receipt.at);
    // Where the agent worked, its files do not tell: for one project they prove nothing.
    let used = used(dirs, agent).filter(|at| receipt.scope() == Scope::User && *at > told_until + FILE_LAG);
    match (used, heard) {
        (Some(at), _) => {
            let last = match heard {
                Some(heard) => format!("the last hook told of anything {}", relative_past(heard, now())),
                None => "no hook told of it".to_owned(),
            };
            let finding = format!("{name}: in place but silent; it was used {}, {last}", relative_past(at, now()));
            CheckResult::warning(CHECK, finding).fix(hooks.silent_hint)
        }
        (None, Some(at)) => {
            CheckResult::ok(CHECK, format!("{name}: in place, last heard {}", relative_past(at, now())))
        }
        (None, None) => CheckResult::note(CHECK, format!("{name}: in place; it was not used since")),
    }
}

/// When the newest of an agent's hook events came, those of our own trials apart.
pub(super) fn last_event(context: &Context, agent: &AgentSpec) -> Option<Timestamp> {
    let store = context.store().ok()??;
    let query = SessionQuery { agent: Some(agent.id.to_owned()), archived: true, limit: 20, ..SessionQuery::default() };
    let rows = store.sessions(&query).ok()?.rows;
    rows.iter().filter(|row| !row.key.id.starts_with(SELF_TEST_SESSION_PREFIX)).find_map(|row| {
        let query =
            EventQuery { session: Some(row.key.clone()), order: Order::Last, limit: 20, ..EventQuery::default() };
        let events = store.events(&query).ok()?;
        let mut events = events.iter().rev().filter_map(|row| row.event().ok());
        events.find(|event| event.source == Source::Hook).map(|event| event.at)
    })
}

/// When the agent last wrote a session file.
fn used(dirs: &UserDirs, agent: &AgentSpec) -> Option<Timestamp> {
    let mut open: Vec<PathBuf> = agent.transcript_roots(dirs);
    let mut newest: Option<SystemTime> = None;
    let mut looked = 0;
    while let Some(path) = open.pop().filter(|_| looked < MAX_SESSION_FILES) {
        looked += 1;
        let Ok(found) = std::fs::metadata(&path) else { continue };
        if found.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten();
            open.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
        } else {
            newest = newest.max(found.modified().ok());
        }
    }
    let since = newest?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Timestamp::from_millis(i64::try_from(since.as_millis()).ok()?))
}
