//! Replays groups of files in parallel and reports their sessions in a fixed order.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use belay_core::{Rules, Timestamp};

use crate::discover::SessionFile;
use crate::fork_groups::group_forks;
use crate::replay::{FileReport, ReplayOptions, replay};
use crate::session_report::SessionReport;

/// The rules for sessions in a directory.
pub type RulesProvider = dyn Fn(Option<&Path>) -> Arc<Rules> + Send + Sync;

/// A set of rules.
pub struct RuleSet {
    /// Its name in a comparison.
    pub name: String,
    pub rules: Box<RulesProvider>,
}

impl RuleSet {
    /// The same rules for every session.
    pub fn fixed(name: impl Into<String>, rules: Rules) -> Self {
        let rules = Arc::new(rules);
        Self { name: name.into(), rules: Box::new(move |_| Arc::clone(&rules)) }
    }
}

impl fmt::Debug for RuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variant").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The progress of a run, readable by other threads.
#[derive(Debug, Default)]
pub struct Progress {
    read: AtomicU64,
    sessions: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// Ends the run after the files that are being read. What it reported so far is incomplete.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Sessions replayed so far.
    pub fn sessions(&self) -> u64 {
        self.sessions.load(Ordering::Relaxed)
    }
}

/// Selects sessions.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    /// Active at or after this time.
    pub since: Option<Timestamp>,
    /// In projects whose path or name contains this text.
    pub project: Option<String>,
}

impl SessionFilter {
    /// Whether a session is selected.
    pub fn includes(&self, report: &SessionReport) -> bool {
        let recent = self.since.is_none_or(|since| report.last_at >= since);
        let wanted = |part: &str| {
            let part = part.trim_end_matches(['/', '\\']);
            report.project.as_deref().is_some_and(|project| {
                project == part
                    || project.strip_prefix(part).is_some_and(|rest| rest.starts_with(['/', '\\']))
                    || !part.contains(['/', '\\'])
                        && project.rsplit(['/', '\\']).next().is_some_and(|name| name == part)
            })
        };
        recent && self.project.as_deref().is_none_or(wanted)
    }
}

/// A result of a run. For each group: its sessions, then its files.
#[derive(Debug)]
pub enum AuditItem {
    /// A complete session.
    Session(Box<SessionReport>),
    /// A file that was read as far as possible.
    File(FileReport),
}

/// Maximum number of groups that wait in memory for an earlier one.
const MAX_BUFFERED_GROUPS: usize = 256;

/// Replays all sources on `threads` threads and reports the results on the calling thread, in an order that depends on the
/// files only.
pub fn run(
    sources: Vec<SessionFile>,
    settings: &ReplayOptions<'_>,
    threads: Option<NonZero<usize>>,
    progress: &Progress,
    mut tell: impl FnMut(AuditItem),
) {
    let families = group_forks(sources);
    let threads = threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let threads = threads.min(families.len()).max(1);
    let next = AtomicUsize::new(0);
    let due = OrderedOutput::default();
    thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        for _ in 0..threads {
            let send = send.clone();
            let (families, next, due) = (&families, &next, &due);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(family) = families.get(at).filter(|_| !progress.is_cancelled()) else { break };
                    due.wait_until(at.saturating_sub(MAX_BUFFERED_GROUPS));
                    if send.send((at, replay(family, settings, progress))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        let mut waiting = BTreeMap::new();
        let mut turn = 0;
        for (at, outcome) in receive {
            waiting.insert(at, outcome);
            while let Some((sessions, files)) = waiting.remove(&turn) {
                progress.sessions.fetch_add(sessions.len() as u64, Ordering::Relaxed);
                sessions.into_iter().for_each(|session| tell(AuditItem::Session(Box::new(session))));
                files.into_iter().for_each(|file| tell(AuditItem::File(file)));
                turn += 1;
                due.now(turn);
            }
        }
    });
}

/// The group whose results are reported next.
#[derive(Debug, Default)]
struct OrderedOutput {
    turn: Mutex<usize>,
    changed: std::sync::Condvar,
}

impl OrderedOutput {
    fn now(&self, turn: usize) {
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = turn;
        self.changed.notify_all();
    }

    fn wait_until(&self, turn: usize) {
        let now = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(now, |now| *now < turn).unwrap_or_else(PoisonError::into_inner));
    }
}
