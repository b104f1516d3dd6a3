//! `cargo xtask score PATH`: the quality of the detectors on labelled sessions.
//!
//! PATH is a folder with `*-labels.tsv`, `*-sessions.tar.gz` (or an unpacked folder of sessions) and
//! `score.py`. `belay audit` replays the sessions; the scorer compares the alarms with the labels.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::shell;

const USAGE: &str = "usage: cargo xtask score PATH, a folder with *-labels.tsv, *-sessions.tar.gz and score.py";

/// Rows of the table: the scorer's key and our title.
const ROWS: &[(&str, &str)] = &[
    ("sessions", "sessions"),
    ("calls", "calls"),
    ("loops", "loops"),
    ("precision", "precision"),
    ("recall", "recall"),
    ("f1", "F1"),
    ("false_alarms", "false alarms"),
    ("clean_sessions_alarmed_pct", "clean alarmed %"),
    ("median_delay", "median delay"),
    ("saved_pct", "saved %"),
];

pub(crate) fn run(args: &[String]) -> Result<bool, String> {
    let [corpus] = args else { return Err(USAGE.to_owned()) };
    let corpus = Path::new(corpus);
    let labels = find(corpus, "-labels.tsv")?;
    let scorer = corpus.join("score.py");
    if !scorer.is_file() {
        return Err(format!("{} has no score.py; {USAGE}", corpus.display()));
    }
    let work = shell::root().join("target").join("score");
    let sessions = unpack(corpus, &work)?;
    let alarms = work.join("alarms.jsonl");
    replay(&sessions, &alarms)?;
    let scored = Command::new("python3")
        .args([&scorer, &labels, &sessions, &alarms])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot start python3: {e}"))?;
    print(&String::from_utf8_lossy(&scored.stdout));
    Ok(scored.status.success())
}

/// The file of a folder with this ending.
fn find(folder: &Path, ending: &str) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    let mut matching =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with(ending));
    matching.next().ok_or_else(|| format!("{} has no *{ending}; {USAGE}", folder.display()))
}

/// The folder with the session files, unpacked below `work`.
fn unpack(corpus: &Path, work: &Path) -> Result<PathBuf, String> {
    let archive = find(corpus, "-sessions.tar.gz")?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy().replace("-sessions.tar.gz", "");
    let sessions = work.join(&name);
    if !sessions.is_dir() {
        fs::create_dir_all(work).map_err(|e| format!("cannot create {}: {e}", work.display()))?;
        let ok = shell::run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(work))?;
        if !ok || !sessions.is_dir() {
            return Err(format!("cannot unpack {} into a folder {name}/", archive.display()));
        }
    }
    Ok(sessions)
}

fn replay(sessions: &Path, alarms: &Path) -> Result<(), String> {
    let out = File::create(alarms).map_err(|e| format!("cannot write {}: {e}", alarms.display()))?;
    let mut command = shell::cargo(&["run", "--quiet", "-p", "belayer", "--", "audit", "--json"]);
    let ok = shell::run(command.arg(sessions).stdout(out))?;
    if ok { Ok(()) } else { Err("cannot replay the sessions".to_owned()) }
}

/// The scorer prints group by group, one `key: value` per line; the table has one column per group.
fn print(scores: &str) {
    let mut groups: Vec<(&str, Vec<(&str, &str)>)> = Vec::new();
    for line in scores.lines() {
        match (line.strip_prefix("  ").and_then(|line| line.split_once(": ")), groups.last_mut()) {
            (Some(pair), Some((_, pairs))) => pairs.push(pair),
            _ => groups.push((line, Vec::new())),
        }
    }
    let value = |pairs: &[(&str, &str)], key: &str| {
        pairs.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned()).unwrap_or_default()
    };
    let row = |title: &str, cells: &mut dyn Iterator<Item = String>| {
        println!("{title:<18}{}", cells.map(|cell| format!("{cell:>24}")).collect::<String>());
    };
    println!();
    row("", &mut groups.iter().map(|(name, _)| (*name).to_owned()));
    for (key, title) in ROWS {
        row(title, &mut groups.iter().map(|(_, pairs)| value(pairs, key)));
    }
    for (name, pairs) in &groups {
        let kinds = value(pairs, "recall_by_kind");
        println!("\nrecall by kind, {name}");
        for kind in kinds.trim_matches(['{', '}']).split(", ") {
            let (kind, found) = kind.split_once(": ").unwrap_or((kind, ""));
            println!("  {:<28}{}", kind.trim_matches('\''), found.trim_matches('\''));
        }
    }
}
