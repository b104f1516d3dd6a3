//! The store: readable, of the right version, intact and private.

use std::time::Duration;

use belay_config::{Loader, Strictness};
use belay_core::format;
use belay_engine::SpoolDir;
use belay_store::{Access, Store};

use super::CheckResult;
use crate::context::Context;

pub(super) fn store(context: &Context) -> Vec<CheckResult> {
    const CHECK: &str = "store";
    let path = context.database();
    if matches!(path.try_exists(), Ok(false)) {
        return vec![CheckResult::note(CHECK, "does not exist yet; the first event creates it")];
    }
    let store = match belay_store::open(&context.store_url(), Access::Read) {
        Ok(store) => store,
        Err(error) => return vec![CheckResult::failed(CHECK, error.to_string()).fix(error.hint())],
    };
    let mut rows = Vec::new();
    match store.check() {
        Ok(damage) if damage.is_empty() => {}
        Ok(damage) => {
            let finding = format!("{} is damaged: {}", path.display(), damage.join("; "));
            let fix = format!(
                "stop Belay, then recover the readable data: sqlite3 {0} .recover | sqlite3 {0}.recovered",
                path.display()
            );
            rows.push(CheckResult::failed(CHECK, finding).fix(fix));
        }
        Err(error) => rows.push(CheckResult::failed(CHECK, error.to_string()).fix(error.hint())),
    }
    rows.extend(check_mode(&path));
    rows.extend(check_size(context, &*store));
    if rows.is_empty() {
        rows.push(match store.totals(None) {
            Ok(totals) => {
                let sessions: u64 = totals.sessions.values().sum();
                let size = totals.bytes.div_ceil(1 << 20);
                let (sessions, events) =
                    (format::pluralize(sessions, "session"), format::pluralize(totals.events, "event"));
                CheckResult::ok(CHECK, format!("{}: {sessions}, {events}, {size} MiB", path.display()))
            }
            Err(error) => CheckResult::failed(CHECK, error.to_string()).fix(error.hint()),
        });
    }
    rows
}

/// Events that hooks saved because they could not write to the store.
pub(super) fn spool(context: &Context) -> Vec<CheckResult> {
    const CHECK: &str = "spool";
    let spool = SpoolDir::new(context.paths.spool());
    let content = match spool.content() {
        Ok(content) => content,
        Err(error) => {
            let finding = format!("cannot read {}: {error}", spool.path().display());
            return vec![CheckResult::warning(CHECK, finding).fix("check the owner and mode of the directory")];
        }
    };
    let mut rows = Vec::new();
    if content.waiting > 0 {
        let hooks = format::pluralize(content.waiting as u64, "hook");
        let finding = format!("the events of {hooks} wait to be recorded: the store could not be written");
        rows.push(CheckResult::warning(CHECK, finding).fix("run `belay serve`: it records them within a second"));
    }
    if !content.damaged.is_empty() {
        let path = |name: &String| spool.path().join(name).display().to_string();
        let paths: Vec<String> = content.damaged.iter().map(path).collect();
        let finding = format!("saved events cannot be recorded: {}", paths.join(", "));
        rows.push(CheckResult::warning(CHECK, finding).fix("the files are not used any more; delete them"));
    }
    rows
}

/// How long the log is verified without `--full`.
const VERIFY_TIME: Duration = Duration::from_secs(2);

/// Whether the log is as Belay has written it.
pub(super) fn log(context: &Context, full: bool) -> Option<CheckResult> {
    const CHECK: &str = "history";
    if matches!(context.database().try_exists(), Ok(false)) {
        return None;
    }
    // A store that cannot be opened is reported by the check above.
    let store = belay_store::open(&context.store_url(), Access::Read).ok()?;
    let found = match store.verify_log((!full).then_some(VERIFY_TIME)) {
        Ok(found) => found,
        Err(error) => return Some(CheckResult::failed(CHECK, error.to_string()).fix(error.hint())),
    };
    let verified = format::pluralize(found.verified, "session");
    if !found.broken.is_empty() {
        let broken: Vec<String> =
            found.broken.iter().map(|broken| format!("{}: {}", broken.session, broken.problem)).collect();
        let finding = format!("the log was changed by something other than Belay: {}", broken.join("; "));
        let fix = "find out which program wrote to belay.db; to compare, restore the file from a backup";
        return Some(CheckResult::failed(CHECK, finding).fix(fix));
    }
    if full {
        return Some(CheckResult::ok(CHECK, format!("the log of {verified} is as Belay has written it")));
    }
    (found.verified < found.sessions).then(|| {
        let finding = format!("the log of the newest {verified} of {} is as Belay has written it", found.sessions);
        CheckResult::note(CHECK, finding).fix("verify all: belay doctor --full")
    })
}

/// Retention works in the resident process only, and only as fast as writers leave it time.
fn check_size(context: &Context, store: &dyn Store) -> Option<CheckResult> {
    let loaded = Loader::new(&context.paths, &context.env).strictness(Strictness::Lenient).load().ok()?;
    let max = loaded.config.store.max_bytes.get()?;
    let database = context.database();
    let bytes = context.store_url().disk_bytes();
    // Retention starts above the limit, so a little more is normal.
    if bytes <= max.saturating_add(max / 10) {
        return None;
    }
    let (mib, max) = (bytes.div_ceil(1 << 20), max.div_ceil(1 << 20));
    let mut finding = format!("{} takes {mib} MiB; store.max_bytes is {max} MiB", database.display());
    let mut fix = "run `belay serve` for a while: it deletes the oldest sessions".to_owned();
    // One endless session may hold the space.
    let kept = store.largest_kept_session().ok().flatten();
    let events = store.totals(None).map_or(0, |totals| totals.events);
    if let Some(kept) = kept.filter(|kept| kept.events.saturating_mul(2) > events) {
        let events = format::pluralize(kept.events, "event");
        finding.push_str(&format!("; {} has {events} and is not deleted", kept.session));
        fix =
            "a session is not deleted while it is the newest, is held or has an open incident: start a new session of \
               the agent, and resume or acknowledge this one"
                .to_owned();
    }
    Some(CheckResult::warning("store", finding).fix(fix))
}

fn check_mode(path: &std::path::Path) -> Option<CheckResult> {
    use std::os::unix::fs::MetadataExt;
    let mode = std::fs::metadata(path).ok()?.mode() & 0o777;
    (mode & 0o077 != 0).then(|| {
        CheckResult::warning("store", format!("{} is readable by other users (mode {mode:o})", path.display()))
            .fix(format!("chmod 600 {}", path.display()))
    })
}
