//! Installed hooks: whether they are intact and whether agents call them.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use belay_agents::hook::HookPoint;
use belay_agents::install::{BelayCommand, FileChange, InstallContext, Scope};
use belay_agents::spec::{HookEvent, HookSpec};
use belay_agents::{AgentSpec, UserDirs, find};
use belay_clock::now;
use belay_config::Strictness;
use belay_core::{Source, Timestamp, format};
use belay_hooks::hook_log;
use belay_hooks::install::{InstallRecord, SELF_TEST_SESSION_PREFIX, read};
use belay_store::{EventQuery, Order, SessionQuery};

use super::CheckResult;
use crate::context::Context;
use crate::format::relative_past;

const CHECK: &str = "hooks";

/// Maximum number of session files checked for the last use of an agent.
const MAX_SESSION_FILES: usize = 5_000;

/// Maximum time between a hook and the agent's write to its session file.
const FILE_LAG: Duration = Duration::from_secs(300);

pub(super) fn hooks(context: &Context) -> Vec<CheckResult> {
    let Some(dirs) = UserDirs::for_current_user() else { return Vec::new() };
    let records = InstallRecord::all(&context.paths);
    records.iter().filter_map(|record| row(context, &dirs, record)).collect()
}

/// Variables that a repository or a shell sets for hooks.
pub(super) fn environment(context: &Context) -> Vec<CheckResult> {
    let logs = context.paths.logs();
    let noted = hook_log::noted_variables(&logs);
    if noted.is_empty() {
        return Vec::new();
    }
    let names = noted.into_iter().collect::<Vec<_>>().join(", ");
    let fix = format!(
        "hooks take no setting from it; find out who sets it: your shell, the agent's settings, or the settings of a \
         repository. {} says which agent",
        logs.join("hook.log").display()
    );
    vec![CheckResult::warning(CHECK, format!("set in the environment of hooks: {names}")).fix(fix)]
}

fn row(context: &Context, dirs: &UserDirs, record: &InstallRecord) -> Option<CheckResult> {
    let agent = find(&record.agent)?;
    let hooks = agent.hooks?;
    let project = record.project.clone().unwrap_or_default();
    let place = record.project.as_ref().map_or_else(String::new, |project| format!(" in {}", project.display()));
    let name = format!("{}{place}", agent.display_name);
    let again =
        format!("belay init --agent {}{}", agent.id, if record.scope() == Scope::Project { " --project" } else { "" });
    if record.scope() == Scope::User && !Path::new(&record.belay).exists() {
        let finding = format!("the hooks of {name} call {}, which does not exist", record.belay);
        return Some(CheckResult::failed(CHECK, finding).fix(again));
    }
    let options = match record.scope() {
        Scope::User => context.paths.to_args().to_options(),
        Scope::Project => Vec::new(),
    };
    let belay = BelayCommand { program: record.belay.clone(), options };
    let setting = InstallContext { dirs, scope: record.scope(), project: &project, belay: &belay, read: &read };
    if let Some(finding) = short_hook(context, hooks, &setting, &name) {
        return Some(CheckResult::warning(CHECK, finding).fix(again));
    }
    match hooks.installer.install(&setting) {
        Err(error) => return Some(CheckResult::failed(CHECK, format!("the hooks of {name}: {error}")).fix(again)),
        Ok(changes) if !changes.is_empty() => {
            let saved = |change: &FileChange| record.saved_file(&change.path);
            let is_ours =
                |change: &FileChange| saved(change).is_some_and(|file| file.is_unmodified(change.before.as_deref()));
            let path = changes[0].path.display();
            let finding = match changes.iter().all(is_ours) {
                true => format!("the hooks of {name} are those of another version of Belay ({path})"),
                false => format!("the hooks of {name} were changed ({path})"),
            };
            return Some(CheckResult::warning(CHECK, finding).fix(again));
        }
        Ok(_) => {}
    }
    if let Some(obstacle) = hooks.installer.blocking_setting(&setting) {
        return Some(CheckResult::warning(CHECK, format!("{name}: installed, but {obstacle}")));
    }
    Some(check_activity(context, dirs, hooks, agent, &name, record))
}

/// A hook that the agent ends before Belay is done with it.
fn short_hook(context: &Context, hooks: &HookSpec, setting: &InstallContext<'_>, name: &str) -> Option<String> {
    hooks.events.iter().find_map(|event| {
        let installed = hooks.installer.installed_timeout(setting, event.name)?;
        match event.point {
            HookPoint::Permission => short_permission_hook(context, event, installed, name),
            _ if installed >= event.timeout => None,
            _ => {
                let (ends, needed) = (format::duration(installed), format::duration(event.timeout));
                Some(format!("{name} ends its {} hook after {ends}, but Belay may need {needed}", event.name))
            }
        }
    })
}

/// Approvals are on, but the agent ends the permission hook before a person may answer.
fn short_permission_hook(context: &Context, event: &HookEvent, installed: Duration, name: &str) -> Option<String> {
    let approvals = context.config(Strictness::Lenient, &[]).ok()?.config.approvals;
    // Without a limit, a prompt is offered for as long as the agent waits.
    let wait = approvals.wait.get().unwrap_or(Duration::MAX);
    let needed = wait.saturating_add(belay_server::TIMEOUT_MARGIN).min(event.timeout);
    (approvals.enabled && installed < needed).then(|| {
        let (wait, installed) = (format::duration(wait.min(event.timeout)), format::duration(installed));
        format!("approvals wait {wait} for an answer, but {name} ends its permission hook after {installed}")
    })
}

/// Compares the agent's last use with its last hook event.
fn check_activity(
    context: &Context,
    dirs: &UserDirs,
    hooks: &HookSpec,
    agent: &AgentSpec,
    name: &str,
    record: &InstallRecord,
) -> CheckResult {
    let last_hook = last_event(context, agent).filter(|at| *at >= record.at);
    let covered_until = last_hook.unwrap_or(record.at);
    // Session files do not show the project, so they prove nothing about hooks of one project.
    let used = last_use(dirs, agent).filter(|at| record.scope() == Scope::User && *at > covered_until + FILE_LAG);
    match (used, last_hook) {
        (Some(at), _) => {
            let last = match last_hook {
                Some(at) => format!("the last hook event was {}", relative_past(at, now())),
                None => "no hook was called".to_owned(),
            };
            let finding =
                format!("{name}: installed but not called; the agent was used {}, {last}", relative_past(at, now()));
            CheckResult::warning(CHECK, finding).fix(hooks.silent_hint)
        }
        (None, Some(at)) => {
            CheckResult::ok(CHECK, format!("{name}: installed, last event {}", relative_past(at, now())))
        }
        (None, None) => CheckResult::note(CHECK, format!("{name}: installed; the agent was not used since")),
    }
}

/// Time of the agent's newest hook event, except those of self-tests.
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
fn last_use(dirs: &UserDirs, agent: &AgentSpec) -> Option<Timestamp> {
    let mut open: Vec<PathBuf> = agent.transcript_roots(dirs);
    let mut newest: Option<SystemTime> = None;
    let mut checked = 0;
    while let Some(path) = open.pop().filter(|_| checked < MAX_SESSION_FILES) {
        checked += 1;
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
