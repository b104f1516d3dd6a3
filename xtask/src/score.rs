//! `cargo xtask score`: the quality of the detectors on labelled sessions.
//!
//! ```text
//! score PATH                precision, recall, delay and savings
//! score --sensitivity PATH  the same with every threshold one step looser and stricter, per source
//! score --status            the status of sessions at labelled moments, recorded from real CLIs
//! score --histories PATH    which healthy sessions of real histories would have been interrupted, with the sentences
//! ```
//!
//! PATH is a directory with `X-labels.tsv`, `X-sessions.tar.gz` and `score.py`; for histories, `X-histories-labels.tsv` and
//! `X-histories.tar.xz`. `belay audit` replays the sessions, with the built-in rules unless a variant is measured.

mod alarms;
mod corpus;
mod histories;
mod measure;
mod sensitivity;
mod thresholds;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::shell;
pub(crate) use alarms::Alarms;
use corpus::Corpus;

const USAGE: &str = "usage: cargo xtask score --status, or score [--sensitivity | --histories] PATH, a directory with X-labels.tsv, \
                     X-sessions.tar.gz and score.py (for histories: X-histories-labels.tsv, X-histories.tar.xz)";

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
    match args {
        [flag] if flag == "--status" => status(),
        [flag, path] if flag == "--sensitivity" => sensitivity::run(Path::new(path)),
        [flag, path] if flag == "--histories" => histories::run(Path::new(path)),
        [path] if !path.starts_with('-') => total(Path::new(path)),
        _ => Err(USAGE.to_owned()),
    }
}

/// The table that the test prints; it fails below its bar.
fn status() -> Result<bool, String> {
    let test = "the_status_is_right_at_recorded_moments";
    shell::run(&mut shell::cargo(&["test", "--quiet", "-p", "belay-core", "--test", "it", test, "--", "--nocapture"]))
}

fn total(path: &Path) -> Result<bool, String> {
    let scorer = path.join("score.py");
    if !scorer.is_file() {
        return Err(format!("{} has no score.py; {USAGE}", path.display()));
    }
    let corpus = Corpus::open(path, "-sessions.tar.gz", "-labels.tsv")?;
    let alarms = Replay::new(&corpus.work)?.run(&corpus.sessions, "alarms", "")?;
    let scored = Command::new("python3")
        .args([&scorer, &corpus.labels, &corpus.sessions, &alarms])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cannot start python3: {e}"))?;
    print(&String::from_utf8_lossy(&scored.stdout));
    Ok(scored.status.success())
}

/// Runs `belay audit` with variants of the rules.
pub(crate) struct Replay {
    belay: PathBuf,
    work: PathBuf,
}

impl Replay {
    pub(crate) fn new(work: &Path) -> Result<Self, String> {
        if !shell::run(&mut shell::cargo(&["build", "--release", "--quiet", "-p", "belayer"]))? {
            return Err("cannot build belay".to_owned());
        }
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| shell::root().join("target"), PathBuf::from);
        Ok(Self { belay: target.join("release").join("belay"), work: work.to_owned() })
    }

    /// The alarms in these sessions under the built-in rules with `config` on top.
    pub(crate) fn run(&self, sessions: &Path, name: &str, config: &str) -> Result<PathBuf, String> {
        let rules = self.work.join(format!("{name}.toml"));
        let alarms = self.work.join(format!("{name}.jsonl"));
        let cannot_write = |path: &Path, e: std::io::Error| format!("cannot write {}: {e}", path.display());
        fs::write(&rules, config).map_err(|e| cannot_write(&rules, e))?;
        let out = File::create(&alarms).map_err(|e| cannot_write(&alarms, e))?;
        let status = Command::new(&self.belay)
            .args(["audit", "--json", "--config"])
            .arg(&rules)
            .arg(sessions)
            .stdout(out)
            .status()
            .map_err(|e| format!("cannot start {}: {e}", self.belay.display()))?;
        if status.success() { Ok(alarms) } else { Err(format!("cannot replay the sessions with {}", rules.display())) }
    }
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
