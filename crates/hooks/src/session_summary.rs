//! The summary of a session at its end.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use belay_core::SessionState;
use belay_core::format::{cost, pluralize, tokens};
use belay_fs::{Dir, FileMode};
use belay_store::session::SessionRow;
use serde_json::{Value, json};

use crate::local_facts::work_tree_root;

/// One sentence for the user; `None` for a session without calls.
pub fn summary_sentence(row: &SessionRow) -> Option<String> {
    let figures = SummaryNumbers::from_row(row);
    if figures.calls == 0 {
        return None;
    }
    let mut text =
        format!("Belay: {} in {}", pluralize(figures.calls, "call"), pluralize(figures.minutes.max(1), "minute"));
    if figures.tokens > 0 {
        text.push_str(&format!(", {}", tokens(figures.tokens)));
    }
    if figures.cost_micros > 0 || figures.unpriced_micros > 0 {
        text.push_str(&format!(" ({})", cost(figures.cost_micros, figures.unpriced_micros)));
    }
    match (figures.nudges, figures.pauses) {
        (0, 0) => text.push_str(", no interventions"),
        (nudges, 0) => text.push_str(&format!(", {}", pluralize(nudges, "nudge"))),
        (nudges, pauses) => text.push_str(&format!(", {}, {}", pluralize(nudges, "nudge"), pluralize(pauses, "pause"))),
    }
    if figures.avoided > 0 {
        text.push_str(&format!("; about {} of repetition avoided", tokens(figures.avoided)));
    }
    text.push('.');
    Some(text)
}

/// The figures of a summary.
struct SummaryNumbers {
    calls: u64,
    minutes: u64,
    tokens: u64,
    cost_micros: u64,
    /// Cost of models without a price, at the assumed one.
    unpriced_micros: u64,
    nudges: u64,
    pauses: u64,
    /// Estimated cost of the calls that were prevented, at the session's average.
    avoided: u64,
}

impl SummaryNumbers {
    fn from_row(row: &SessionRow) -> Self {
        let (counters, spent, facts) = (&row.details.counters, &row.details.spent, &row.details.facts);
        let tokens = spent.usage.total();
        let held_back = counters.nudges + counters.pauses;
        Self {
            calls: counters.calls,
            minutes: facts.last_at.saturating_since(facts.started_at).as_secs().div_ceil(60),
            tokens,
            cost_micros: spent.cost_micros,
            unpriced_micros: spent.unpriced_micros,
            nudges: counters.nudges,
            pauses: counters.pauses,
            avoided: tokens.checked_div(counters.calls).unwrap_or(0).saturating_mul(held_back),
        }
    }
}

/// The session's status as a keyword for scripts.
fn status(row: &SessionRow) -> &'static str {
    match row.state.effective() {
        SessionState::Killed { .. } => "killed",
        SessionState::Paused { .. } => "paused",
        _ if row.details.counters.nudges + row.details.counters.pauses > 0 => "interventions",
        _ => "clean",
    }
}

/// A session's entry in `belay-result.json`.
pub fn result_json(row: &SessionRow) -> Value {
    let figures = SummaryNumbers::from_row(row);
    json!({
        "session": row.key.to_string(),
        "status": status(row),
        "calls": figures.calls,
        "minutes": figures.minutes,
        "tokens": figures.tokens,
        "cost_usd": figures.cost_micros as f64 / 1e6,
        "unpriced_usd": figures.unpriced_micros as f64 / 1e6,
        "nudges": figures.nudges,
        "pauses": figures.pauses,
        "tokens_avoided": figures.avoided,
        "incident": row.details.incident,
    })
}

/// The result file for programs that wait for a headless run.
pub const RESULT_FILE: &str = "belay-result.json";

/// A larger result file was not written by Belay; it is replaced.
pub const MAX_RESULT_BYTES: u64 = 4 * 1024 * 1024;

/// Statuses, most severe first.
const STATUS_SEVERITY: &[&str] = &["killed", "paused", "interventions", "clean"];

/// How often and how long a result waits for another session that ends at the same time.
const LOCK_ATTEMPTS: u32 = 40;
const LOCK_INTERVAL: Duration = Duration::from_millis(5);

/// Writes a session's result to the file in `cwd`, next to those of other sessions. A link between the root of the
/// repository and the file is not followed.
pub fn write_result(cwd: &Path, row: &SessionRow) -> io::Result<()> {
    let root = work_tree_root(cwd);
    let dir = Dir::open_below(root, cwd.strip_prefix(root).unwrap_or(Path::new("")))?;
    let _lock = lock(&dir);
    let known: Value = dir
        .read_regular(RESULT_FILE, MAX_RESULT_BYTES)
        .ok()
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .unwrap_or_default();
    let new = result_json(row);
    let mut sessions: Vec<Value> = known["sessions"].as_array().cloned().unwrap_or_default();
    sessions.retain(|session| session["session"] != new["session"]);
    sessions.push(new);
    let worst = STATUS_SEVERITY.iter().find(|status| sessions.iter().any(|session| session["status"] == **status));
    let all = json!({ "status": worst.unwrap_or(&"clean"), "sessions": sessions });
    dir.replace_file(OsStr::new(RESULT_FILE), format!("{all:#}\n").as_bytes(), FileMode::Keep)
}

/// Locks the directory. Any process may hold that lock for as long as it likes; then the last result wins.
fn lock(dir: &Dir) -> Option<File> {
    let file = dir.open_self().ok()?;
    for _ in 0..LOCK_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Some(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_INTERVAL),
            Err(TryLockError::Error(_)) => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests;
