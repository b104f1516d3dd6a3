//! Runs an audit.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use belay_agents::UserDirs;
use belay_audit::discover::SearchFilter;
use belay_audit::replay::ReplayOptions;
use belay_audit::report::LabelStyle;
use belay_audit::run::AuditItem;
use belay_audit::{Collector, Report, RuleSet, SearchScope, SessionFilter, Totals, find};
use belay_clock::now;
use belay_config::{ConfigKey, Loader, RulesByDir, Strictness};
use belay_core::Timestamp;
use jiff::tz::TimeZone;

use super::{AuditView, AuditWork, DifferenceView, RulesOutcome, RunningAudit, TriedSettingView};
use crate::state::{ConfigSource, DaemonState};
use crate::sync::lock;

/// How often pages are told about the progress.
const TELL_INTERVAL: Duration = Duration::from_secs(1);

/// Added to the niceness of the thread: agents, hooks and decisions come first.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

pub(super) fn run(daemon: &DaemonState, audit: &RunningAudit) {
    lower_priority();
    let result = replay(daemon, audit);
    let cancelled = audit.progress.is_cancelled();
    let audits = &daemon.audits;
    let stored = match (&audit.work.setting, result) {
        _ if cancelled => Ok(()),
        (Some((key, value)), result) => audits.archive.put_tried(&tried(daemon, audit, key, value, result)),
        (None, Ok(report)) => {
            let view = summary(audit, report.totals());
            audits.archive.put(&view, Some(&report.html(&TimeZone::system())))
        }
        (None, Err(error)) => {
            let view = AuditView { error: Some(error), ..summary(audit, &Totals::default()) };
            audits.archive.put(&view, None)
        }
    };
    if let Err(error) = stored {
        tracing::warn!(%error, "cannot store the result of an audit");
    }
    *lock(&audits.running) = None;
    daemon.live.notify("audit");
}

/// On Linux a thread has its own niceness, which the threads that it starts inherit.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "cannot lower the priority of the audit");
    }
}

fn replay(daemon: &DaemonState, audit: &RunningAudit) -> Result<Report, String> {
    let work = &audit.work;
    let since = work.days.map(|days| now() - Duration::from_secs(u64::from(days) * 86_400));
    let dirs =
        UserDirs::for_current_user().ok_or("cannot find your home directory, which contains the session files")?;
    // Only matters for agents that keep their history in the project, of which none is current here.
    let here = daemon.config.paths.user_home().map_or_else(PathBuf::new, std::path::Path::to_path_buf);
    let filter = SearchFilter { since: since.map(system_time), ..SearchFilter::default() };
    let found = find(&SearchScope::User { dirs, here }, filter);
    audit.found.store(found.sources.len() as u64 + 1, Ordering::Relaxed);
    daemon.live.notify("audit");
    let variants = variants(&daemon.config, work);
    let zone = TimeZone::system();
    let options = ReplayOptions { variants: &variants, zone, keep_notices: false };
    let filter = SessionFilter { since, project: None };
    let mut collector = Collector::new(&variants, filter, LabelStyle::Ids, None::<std::io::Sink>);
    let mut told = Instant::now();
    belay_audit::run(found.sources, &options, NonZero::new(1), &audit.progress, |item| {
        if matches!(item, AuditItem::File(_)) {
            audit.files.fetch_add(1, Ordering::Relaxed);
        }
        collector.add(item);
        if told.elapsed() >= TELL_INTERVAL {
            told = Instant::now();
            daemon.lifecycle.mark_active();
            daemon.live.notify("audit");
        }
        if daemon.lifecycle.shutdown.is_set() {
            audit.progress.cancel();
        }
    });
    collector.finish().map_err(|error| error.to_string())
}

/// The user's rules, and those with the setting that is tried.
fn variants(config: &ConfigSource, work: &AuditWork) -> Vec<RuleSet> {
    let of = |name: &str, tried: Option<(String, String, String)>| {
        let flags = config.flags.iter().cloned().chain(tried).collect();
        // `belay doctor` and the settings page tell about problems of the configuration.
        let sets = RulesByDir::new(config.paths.clone(), config.env.clone(), flags, Box::new(|_| {}));
        RuleSet { name: name.to_owned(), rules: Box::new(move |dir| sets.for_dir(dir)) }
    };
    let mut variants = vec![of("yours", None)];
    if let Some((key, value)) = &work.setting {
        variants.push(of("tried", Some(("the value".to_owned(), key.clone(), value.clone()))));
    }
    variants
}

fn summary(audit: &RunningAudit, totals: &Totals) -> AuditView {
    AuditView {
        id: audit.id.clone(),
        at: audit.started_at,
        scope: audit.work.scope(),
        sessions: totals.sessions,
        calls: totals.spent.calls,
        tokens: totals.spent.usage.total(),
        cost_micros: totals.spent.cost_micros,
        loops: totals.steps.loops,
        in_loops_micros: totals.steps.after_nudge.cost_micros,
        error: None,
    }
}

fn tried(
    daemon: &DaemonState,
    audit: &RunningAudit,
    key: &str,
    value: &str,
    result: Result<Report, String>,
) -> TriedSettingView {
    let mut view = TriedSettingView {
        at: audit.started_at,
        key: key.to_owned(),
        value: value.to_owned(),
        current: current(&daemon.config, key),
        scope: audit.work.scope(),
        ..TriedSettingView::default()
    };
    let report = match result {
        Ok(report) => report,
        Err(error) => return TriedSettingView { error: Some(error), ..view },
    };
    let outcome = |totals: &Totals| RulesOutcome {
        nudged: totals.steps.nudged,
        paused: totals.steps.paused,
        in_loops_micros: totals.steps.after_nudge.cost_micros,
    };
    if let [before, after] = report.variants() {
        view.sessions = before.sessions;
        view.before = outcome(before);
        view.after = outcome(after);
    }
    let differences = report.differences().named().iter().map(|difference| {
        let [before, after] = difference.calls;
        let what = match (before, after, &difference.sentences[1]) {
            (Some(before), Some(after), _) => format!("steps in at call {after} instead of {before}"),
            (Some(before), None, _) => format!("stays silent instead of stepping in at call {before}"),
            (None, Some(after), Some(sentence)) => format!("steps in at call {after}: {sentence}"),
            (None, after, _) => format!("steps in at call {}", after.unwrap_or_default()),
        };
        DifferenceView { session: difference.session.to_string(), title: difference.name.clone(), what }
    });
    view.differences = differences.collect();
    view
}

fn current(config: &ConfigSource, key: &str) -> String {
    let loaded = Loader::new(&config.paths, &config.env).strictness(Strictness::Lenient).load().ok();
    let value = loaded.and_then(|loaded| loaded.get(&ConfigKey::parse(key)?).cloned());
    value.map(|value| text_of(&value)).unwrap_or_default()
}

/// A value as a person would type it.
pub(super) fn text_of(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn system_time(at: Timestamp) -> std::time::SystemTime {
    std::time::UNIX_EPOCH + Duration::from_millis(at.millis().try_into().unwrap_or(0))
}
