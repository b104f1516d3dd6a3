//! `cargo xtask score --histories`: real interactive sessions, of which nearly all are healthy. Prints every session
//! that would have been interrupted, by agent and pattern, with the sentences, so that a person can read them all.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::Replay;
use super::alarms::{Alarm, Alarms};
use super::corpus::{Corpus, file_name};

/// Percent of healthy sessions that may be nudged.
const MAX_ALARMED_PERCENT: f64 = 0.5;

/// Maximum number of alarms shown per session.
const MAX_SHOWN: usize = 3;

pub(super) fn run(path: &Path) -> Result<bool, String> {
    let corpus = Corpus::open(path, "-histories.tar.xz", "-histories-labels.tsv")?;
    let labels = fs::read_to_string(&corpus.labels).map_err(|e| format!("cannot read the labels: {e}"))?;
    let labels: BTreeMap<&str, &str> =
        labels.lines().filter_map(|line| line.split_once('\t')).map(|(file, rest)| (file, first_field(rest))).collect();
    let alarms = Alarms::read(&Replay::new(&corpus.work)?.run(&corpus.sessions, "histories", "")?)?;
    let (mut healthy, mut alarmed, mut paused, mut loops, mut missed) = (0_u32, 0_u32, 0_u32, 0_u32, Vec::new());
    let mut unread = Vec::new();
    let mut by_pattern: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for file in files(&corpus.sessions) {
        let named = file.strip_prefix(&corpus.sessions).unwrap_or(&file).to_string_lossy().into_owned();
        let name = file_name(&file);
        let label = labels.get(named.as_str()).copied().unwrap_or("healthy");
        let none = Vec::new();
        let hits = alarms.by_file.get(&name).unwrap_or(&none);
        match label {
            "loop" => {
                loops += 1;
                if hits.is_empty() {
                    missed.push(named);
                }
            }
            "ambiguous" => {}
            _ if !alarms.read.contains(&name) => unread.push(named),
            _ => {
                healthy += 1;
                if hits.is_empty() {
                    continue;
                }
                alarmed += 1;
                paused += u32::from(hits.iter().any(|alarm| alarm.pauses));
                let agent = named.split('/').next().unwrap_or_default().to_owned();
                for alarm in hits {
                    by_pattern.entry((agent.clone(), alarm.pattern.clone())).or_default().insert(named.clone());
                }
                show(&named, hits);
            }
        }
    }
    println!("\nhealthy sessions alarmed, by agent and pattern");
    for ((agent, pattern), sessions) in &by_pattern {
        println!("  {agent:<14}{pattern:<24}{:>4}", sessions.len());
    }
    missed.iter().for_each(|file| println!("missed loop: {file}"));
    unread.iter().for_each(|file| println!("not read: {file}"));
    let percent = 100.0 * f64::from(alarmed) / f64::from(healthy.max(1));
    println!(
        "\n{alarmed} of {healthy} healthy sessions alarmed ({percent:.2} %), {paused} paused; {} of {loops} loops found; \
         {} files not read",
        loops - u32::try_from(missed.len()).unwrap_or(loops),
        unread.len()
    );
    Ok(percent <= MAX_ALARMED_PERCENT && paused == 0 && missed.is_empty() && unread.is_empty())
}

fn first_field(rest: &str) -> &str {
    rest.split('\t').next().unwrap_or_default()
}

fn show(file: &str, hits: &[Alarm]) {
    println!("\n{file}");
    for alarm in hits.iter().take(MAX_SHOWN) {
        let level = if alarm.pauses { "pause" } else { "nudge" };
        println!("  call {:<5} {} {level}: {}", alarm.call, alarm.pattern, alarm.sentence);
    }
    if hits.len() > MAX_SHOWN {
        println!("  and {} more", hits.len() - MAX_SHOWN);
    }
}

/// All files below a directory, in order.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for path in fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() { dirs.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}
