//! What a session came to, told once at its end.

use std::path::Path;

use belay_config::atomic_file;
use belay_core::SessionState;
use belay_store::session::SessionRow;
use serde_json::{Value, json};

/// One sentence for the person; `None` for a session in which nothing was done.
pub fn summary_sentence(row: &SessionRow) -> Option<String> {
    let figures = SummaryNumbers::of(row);
    if figures.calls == 0 {
        return None;
    }
    let mut text = format!("Belay: {} in {}", plural(figures.calls, "call"), plural(figures.minutes.max(1), "minute"));
    if figures.tokens > 0 {
        text.push_str(&format!(", {} tokens", short(figures.tokens)));
    }
    if figures.cost_micros > 0 {
        text.push_str(&format!(" (${:.2})", figures.cost_micros as f64 / 1e6));
    }
    match (figures.nudges, figures.pauses) {
        (0, 0) => text.push_str(", nothing to step in for"),
        (nudges, 0) => text.push_str(&format!(", {}", plural(nudges, "nudge"))),
        (nudges, pauses) => text.push_str(&format!(", {}, {}", plural(nudges, "nudge"), plural(pauses, "pause"))),
    }
    if figures.avoided > 0 {
        text.push_str(&format!("; about {} tokens of repetition avoided", short(figures.avoided)));
    }
    text.push('.');
    Some(text)
}

/// The numbers.
struct SummaryNumbers {
    calls: u64,
    minutes: u64,
    tokens: u64,
    cost_micros: u64,
    nudges: u64,
    pauses: u64,
    /// What the calls that were held back would have cost, at this session's average.
    avoided: u64,
}

impl SummaryNumbers {
    fn of(row: &SessionRow) -> Self {
        let (counters, spent, facts) = (&row.details.counters, &row.details.spent, &row.details.facts);
        let tokens = spent.usage.total();
        let held_back = counters.nudges + counters.pauses;
        Self {
            calls: counters.calls,
            minutes: facts.last_at.saturating_since(facts.started_at).as_secs().div_ceil(60),
            tokens,
            cost_micros: spent.cost_micros,
            nudges: counters.nudges,
            pauses: counters.pauses,
            avoided: tokens.checked_div(counters.calls).unwrap_or(0).saturating_mul(held_back),
        }
    }
}

fn plural(number: u64, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

fn short(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{:.0}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

/// How a session stands, in one word a script can match.
fn status(row: &SessionRow) -> &'static str {
    match row.state.effective() {
        SessionState::Killed { .. } => "killed",
        SessionState::Paused { .. } => "paused",
        _ if row.details.counters.nudges + row.details.counters.pauses > 0 => "interventions",
        _ => "clean",
    }
}

/// What `belay-result.json` says about a session.
pub fn result_json(row: &SessionRow) -> Value {
    let figures = SummaryNumbers::of(row);
    json!({
        "session": row.key.to_string(),
        "status": status(row),
        "calls": figures.calls,
        "minutes": figures.minutes,
        "tokens": figures.tokens,
        "cost_usd": figures.cost_micros as f64 / 1e6,
        "nudges": figures.nudges,
        "pauses": figures.pauses,
        "tokens_avoided": figures.avoided,
        "incident": row.details.incident,
    })
}

/// The file for programs that wait for a headless run.
pub const RESULT_FILE: &str = "belay-result.json";

/// Worst first.
const STATUS_SEVERITY: &[&str] = &["killed", "paused", "interventions", "clean"];

/// Writes a session's result into the file in `folder`, beside those of other sessions.
pub fn write_result(folder: &Path, row: &SessionRow) -> std::io::Result<()> {
    let path = folder.join(RESULT_FILE);
    // Sessions may end at the same time. Where a folder cannot be locked, the last one wins.
    let lock = std::fs::File::open(folder);
    let _held = lock.as_ref().is_ok_and(|folder| folder.lock().is_ok());
    let known: Value =
        std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let new = result_json(row);
    let mut sessions: Vec<Value> = known["sessions"].as_array().cloned().unwrap_or_default();
    sessions.retain(|session| session["session"] != new["session"]);
    sessions.push(new);
    let worst = STATUS_SEVERITY.iter().find(|status| sessions.iter().any(|session| session["status"] == **status));
    let all = json!({ "status": worst.unwrap_or(&"clean"), "sessions": sessions });
    atomic_file::write(&path, format!("{all:#}\n").as_bytes(), atomic_file::FileMode::Keep)
}

#[cfg(test)]
mod tests;
