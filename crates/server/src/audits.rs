//! Audits of past sessions, started from the dashboard.
//!
//! One audit runs at a time, on one thread of low priority: it reads the session files of this user's agents, as `belay
//! audit` does, and never uses the engine or the store. Results are kept in the state directory.

mod archive;
mod job;

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use belay_audit::Progress;
use belay_config::{ConfigKey, Loader, Paths, Source, Strictness};
use belay_core::Timestamp;
use belay_ipc::{ErrorBody, ErrorCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::state::{ConfigSource, DaemonState};
use crate::sync::lock;
use archive::AuditArchive;

/// Days of history that a setting is tried on unless the request says otherwise.
pub(crate) const DEFAULT_TRY_DAYS: u32 = 30;
/// Maximum number of days.
pub(crate) const MAX_DAYS: u32 = 3650;

/// The audit that runs, and those that are finished.
#[derive(Debug)]
pub(crate) struct Audits {
    archive: AuditArchive,
    running: Mutex<Option<Arc<RunningAudit>>>,
}

/// An audit that runs.
#[derive(Debug)]
struct RunningAudit {
    id: String,
    started_at: Timestamp,
    work: AuditWork,
    progress: Progress,
    /// Session files read.
    files: AtomicU64,
    /// Session files found, plus one; 0 while they are searched.
    found: AtomicU64,
}

/// What an audit does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuditWork {
    /// Only sessions of the last days; `None` for all.
    pub(crate) days: Option<u32>,
    /// Compare the rules with those under another value of a setting.
    pub(crate) setting: Option<(String, String)>,
}

impl AuditWork {
    /// What is read, in a few words.
    fn scope(&self) -> String {
        let sessions = match self.days {
            Some(1) => "sessions of the last day".to_owned(),
            Some(days) => format!("sessions of the last {days} days"),
            None => "all sessions".to_owned(),
        };
        match &self.setting {
            Some((key, value)) => format!("{sessions} with {key} = {value}"),
            None => sessions,
        }
    }
}

/// The state of an audit that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct AuditProgressView {
    pub(crate) id: String,
    pub(crate) started_at: Timestamp,
    /// What it reads: "sessions of the last 30 days".
    pub(crate) scope: String,
    /// Session files read so far.
    pub(crate) done: u64,
    /// Session files in all; absent while they are searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total: Option<u64>,
}

/// A finished audit. The report is at `/history/audits/ID`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct AuditView {
    pub(crate) id: String,
    pub(crate) at: Timestamp,
    pub(crate) scope: String,
    pub(crate) sessions: u64,
    pub(crate) calls: u64,
    pub(crate) tokens: u64,
    /// Millionths of a US dollar.
    pub(crate) cost_micros: u64,
    pub(crate) loops: u64,
    /// Spent in loops after the first nudge, in millionths of a US dollar.
    pub(crate) in_loops_micros: u64,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// What a setting would have done on past sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct TriedSettingView {
    pub(crate) at: Timestamp,
    pub(crate) key: String,
    /// The value that was tried.
    pub(crate) value: String,
    /// The value at that time.
    pub(crate) current: String,
    pub(crate) scope: String,
    pub(crate) sessions: u64,
    /// With the value at that time.
    pub(crate) before: RulesOutcome,
    /// With the value that was tried.
    pub(crate) after: RulesOutcome,
    /// Sessions that would have gone differently; at most 10.
    pub(crate) differences: Vec<DifferenceView>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// What Belay would have done under some rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct RulesOutcome {
    /// Sessions nudged.
    pub(crate) nudged: u64,
    /// Sessions paused.
    pub(crate) paused: u64,
    /// Spent in loops after the first nudge, in millionths of a US dollar.
    pub(crate) in_loops_micros: u64,
}

/// A session that would have gone differently.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct DifferenceView {
    pub(crate) session: String,
    pub(crate) title: String,
    pub(crate) what: String,
}

/// All audits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct AuditsView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) running: Option<AuditProgressView>,
    /// Newest first; the last 20 are kept.
    pub(crate) audits: Vec<AuditView>,
    /// The last setting that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tried: Option<TriedSettingView>,
}

impl Audits {
    pub(crate) fn new(paths: &Paths) -> Self {
        Self { archive: AuditArchive::new(paths), running: Mutex::default() }
    }

    pub(crate) fn view(&self) -> AuditsView {
        AuditsView { running: self.progress(), audits: self.archive.list(), tried: self.archive.tried() }
    }

    pub(crate) fn find(&self, id: &str) -> Option<AuditView> {
        self.archive.find(id)
    }

    /// The report as an HTML page.
    pub(crate) fn report(&self, id: &str) -> Option<String> {
        self.archive.report(id)
    }

    fn progress(&self) -> Option<AuditProgressView> {
        lock(&self.running).as_ref().map(|running| running.view())
    }

    /// Stops an audit. Returns `false` if it does not run.
    pub(crate) fn cancel(&self, id: &str) -> bool {
        let running = lock(&self.running);
        let found = running.as_ref().filter(|running| running.id == id);
        found.inspect(|running| running.progress.cancel()).is_some()
    }
}

impl RunningAudit {
    fn view(&self) -> AuditProgressView {
        AuditProgressView {
            id: self.id.clone(),
            started_at: self.started_at,
            scope: self.work.scope(),
            done: self.files.load(Ordering::Relaxed),
            total: self.found.load(Ordering::Relaxed).checked_sub(1),
        }
    }
}

/// Starts an audit.
pub(crate) fn start(daemon: &Arc<DaemonState>, work: AuditWork) -> Result<AuditProgressView, ErrorBody> {
    if let Some((key, value)) = &work.setting {
        check_setting(&daemon.config, key, value)?;
    }
    let mut running = lock(&daemon.audits.running);
    if let Some(running) = &*running {
        let message = format!("an audit already runs: {}", running.work.scope());
        return Err(ErrorBody::new(ErrorCode::Refused, message).hint("wait for it, or cancel it"));
    }
    let audit = Arc::new(RunningAudit {
        id: uuid::Uuid::now_v7().to_string(),
        started_at: belay_clock::now(),
        work,
        progress: Progress::default(),
        files: AtomicU64::new(0),
        found: AtomicU64::new(0),
    });
    let view = audit.view();
    let (state, job) = (Arc::clone(daemon), Arc::clone(&audit));
    let thread = std::thread::Builder::new().name("audit".to_owned()).spawn(move || job::run(&state, &job));
    thread.map_err(|error| ErrorBody::new(ErrorCode::Internal, format!("cannot start the audit: {error}")))?;
    *running = Some(audit);
    Ok(view)
}

/// The keys that can be tried, with their values: the settings of detection that have one value.
pub(crate) fn settings(config: &ConfigSource) -> Result<Vec<(String, String)>, ErrorBody> {
    let loaded = Loader::new(&config.paths, &config.env).strictness(Strictness::Lenient).load();
    let loaded = loaded.map_err(|error| ErrorBody::new(ErrorCode::BadRequest, error.to_string()))?;
    let is_one = |value: &toml::Value| !matches!(value, toml::Value::Array(_) | toml::Value::Table(_));
    let entries = loaded.entries().into_iter().filter(|entry| is_one(&entry.value));
    let entries = entries.map(|entry| (entry.key.to_string(), job::text_of(&entry.value)));
    Ok(entries.filter(|(key, _)| key.starts_with("detect.")).collect())
}

/// Fails unless the key is one of [`settings`] and takes the value.
fn check_setting(config: &ConfigSource, key: &str, value: &str) -> Result<(), ErrorBody> {
    let refuse = |message: String| ErrorBody::new(ErrorCode::BadRequest, message);
    if !settings(config)?.iter().any(|(known, _)| known == key) {
        return Err(refuse(format!("key: `{key}` is not a setting of detection with one value")));
    }
    let loader = || Loader::new(&config.paths, &config.env).flag("the value", key, value);
    // Other problems of the configuration do not matter here.
    let accepted = loader().strictness(Strictness::Lenient).load().is_ok_and(|loaded| {
        let entry = ConfigKey::parse(key).and_then(|key| loaded.entry(&key));
        entry.is_some_and(|entry| matches!(entry.source, Source::Flag(_)))
    });
    match (accepted, loader().load()) {
        (true, _) => Ok(()),
        (false, Err(error)) => Err(refuse(error.to_string())),
        (false, Ok(_)) => Err(refuse(format!("value: {key} does not take {value:?}"))),
    }
}
