//! Replays session files through core and prints nudges and pauses as JSON lines: what
//! `cargo xtask score` feeds to a scorer.

#![expect(clippy::print_stdout, reason = "printing alarms is its purpose")]

use std::path::Path;

use belay_agents::transcript::recognise;
use belay_core::{Effect, Event, Rules, Rung, Session};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rules = Rules::default();
    for folder in std::env::args().skip(1) {
        let mut files: Vec<_> =
            std::fs::read_dir(folder)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
        files.sort();
        for file in files {
            replay(&file, &rules)?;
        }
    }
    Ok(())
}

fn replay(file: &Path, rules: &Rules) -> Result<(), Box<dyn std::error::Error>> {
    let Some(format) = recognise(file)? else { return Ok(()) };
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut session: Option<Session> = None;
    format.read(file, &mut |event: Event| {
        let session = session.get_or_insert_with(|| Session::new(event.session.clone()));
        for effect in session.apply(&event, rules) {
            let Effect::Intervened(step) = effect else { continue };
            let kind = if step.rung == Rung::Notice { "notice" } else { "alarm" };
            let finding = step.finding;
            println!(
                "{}",
                json!({"type": kind, "session": name, "call": finding.call, "pattern": finding.pattern, "action": step.rung,
                    "from_call": finding.from_call, "count": finding.count, "sentence": finding.sentence})
            );
        }
    })?;
    Ok(())
}
