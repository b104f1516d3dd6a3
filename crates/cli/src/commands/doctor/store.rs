//! The store: readable, of our version, undamaged, private.

use belay_store::Access;

use super::CheckResult;
use crate::context::Context;
use crate::format::pluralize;

pub(super) fn store(context: &Context) -> Vec<CheckResult> {
    const CHECK: &str = "store";
    let path = context.database();
    if matches!(path.try_exists(), Ok(false)) {
        return vec![CheckResult::note(CHECK, "there is none yet; the first event makes it")];
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
                "stop Belay, then save what can be read: sqlite3 {0} .recover | sqlite3 {0}.recovered",
                path.display()
            );
            rows.push(CheckResult::failed(CHECK, finding).fix(fix));
        }
        Err(error) => rows.push(CheckResult::failed(CHECK, error.to_string()).fix(error.hint())),
    }
    if let Some(row) = privacy(&path) {
        rows.push(row);
    }
    if rows.is_empty() {
        rows.push(match store.totals(None) {
            Ok(totals) => {
                let sessions: u64 = totals.sessions.values().sum();
                let size = totals.bytes.div_ceil(1 << 20);
                let (sessions, events) = (pluralize(sessions, "session"), pluralize(totals.events, "event"));
                CheckResult::ok(CHECK, format!("{}: {sessions}, {events}, {size} MiB", path.display()))
            }
            Err(error) => CheckResult::failed(CHECK, error.to_string()).fix(error.hint()),
        });
    }
    rows
}

fn privacy(path: &std::path::Path) -> Option<CheckResult> {
    use std::os::unix::fs::MetadataExt;
    let mode = std::fs::metadata(path).ok()?.mode() & 0o777;
    (mode & 0o077 != 0).then(|| {
        CheckResult::warning("store", format!("{} can be read by others (mode {mode:o})", path.display()))
            .fix(format!("chmod 600 {}", path.display()))
    })
}
