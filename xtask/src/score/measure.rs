//! Precision, recall and clean sessions alarmed, per source: the rules of `score.py`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::alarms::{Alarm, Alarms};

/// Alarms at most this many calls apart are one episode.
const EPISODE_CALLS: u64 = 10;

/// A labelled span of calls.
struct Span {
    start: u64,
    end: u64,
    is_loop: bool,
}

impl Span {
    /// An alarm on the call after a loop still belongs to it.
    fn holds(&self, call: u64) -> bool {
        (self.start..=self.end + 1).contains(&call)
    }
}

/// Labels by file. Files without labels are clean.
pub(super) struct Labels {
    spans: BTreeMap<String, Vec<Span>>,
    files: Vec<String>,
}

impl Labels {
    pub(super) fn read(labels: &Path, sessions: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(labels).map_err(|e| format!("cannot read {}: {e}", labels.display()))?;
        let mut spans: BTreeMap<String, Vec<Span>> = BTreeMap::new();
        for row in text.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>()) {
            let [session, start, end, label, ..] = row.as_slice() else { continue };
            if !matches!(*label, "loop" | "ambiguous") {
                continue;
            }
            let number = |text: &str| text.parse().map_err(|_| format!("{}: `{text}` is no call", labels.display()));
            let span = Span { start: number(start)?, end: number(end)?, is_loop: *label == "loop" };
            spans.entry((*session).to_owned()).or_default().push(span);
        }
        let entries = fs::read_dir(sessions).map_err(|e| format!("cannot read {}: {e}", sessions.display()))?;
        let mut files: Vec<String> =
            entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        files.retain(|name| name.ends_with(".jsonl"));
        files.sort();
        Ok(Self { spans, files })
    }

    /// The score of each source, by the part of the file name before `__`.
    pub(super) fn score(&self, alarms: &Alarms) -> Scores {
        let mut scores = Scores::default();
        for file in &self.files {
            let source = file.split("__").next().unwrap_or(file).to_owned();
            let none = Vec::new();
            let hits = alarms.by_file.get(file).unwrap_or(&none);
            let spans = self.spans.get(file).map_or(&[][..], Vec::as_slice);
            scores.0.entry(source).or_default().add(hits, spans);
        }
        scores
    }
}

/// Counts of one source, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Score {
    right: u32,
    wrong: u32,
    loops: u32,
    found: u32,
    clean: u32,
    clean_alarmed: u32,
}

impl Score {
    fn add(&mut self, hits: &[Alarm], spans: &[Span]) {
        let mut calls: Vec<u64> = hits.iter().map(|alarm| alarm.call).collect();
        calls.sort_unstable();
        let inside = |call: &u64, is_loop: bool| spans.iter().any(|span| span.is_loop == is_loop && span.holds(*call));
        let mut wrong = 0;
        for episode in calls.chunk_by(|a, b| b - a <= EPISODE_CALLS) {
            if episode.iter().any(|call| inside(call, true)) {
                self.right += 1;
            } else if !episode.iter().any(|call| inside(call, false)) {
                wrong += 1;
            }
        }
        self.wrong += wrong;
        self.clean += u32::from(spans.is_empty());
        self.clean_alarmed += u32::from(spans.is_empty() && wrong > 0);
        for span in spans.iter().filter(|span| span.is_loop) {
            self.loops += 1;
            self.found += u32::from(calls.iter().any(|call| span.holds(*call)));
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            right: self.right + other.right,
            wrong: self.wrong + other.wrong,
            loops: self.loops + other.loops,
            found: self.found + other.found,
            clean: self.clean + other.clean,
            clean_alarmed: self.clean_alarmed + other.clean_alarmed,
        }
    }

    pub(super) fn precision(self) -> f64 {
        ratio(self.right, self.right + self.wrong)
    }

    pub(super) fn recall(self) -> f64 {
        ratio(self.found, self.loops)
    }

    /// Percent of clean sessions that were alarmed.
    pub(super) fn clean_alarmed(self) -> f64 {
        if self.clean == 0 { 0.0 } else { 100.0 * f64::from(self.clean_alarmed) / f64::from(self.clean) }
    }

    /// A score in which precision weighs twice as much as recall (F0.5). A false alarm costs more than a missed loop.
    pub(super) fn weighted(self) -> f64 {
        let (p, r) = (self.precision(), self.recall());
        if p + r == 0.0 { 0.0 } else { 1.25 * p * r / (0.25 * p + r) }
    }

    pub(super) fn show(self) -> String {
        format!("{:.4} {:.4} {:5.2}", self.precision(), self.recall(), self.clean_alarmed())
    }
}

/// Nothing found where there is nothing to find is perfect.
fn ratio(part: u32, whole: u32) -> f64 {
    if whole == 0 { 1.0 } else { f64::from(part) / f64::from(whole) }
}

/// The scores by source.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Scores(pub BTreeMap<String, Score>);

impl Scores {
    pub(super) fn total(&self) -> Score {
        self.0.values().fold(Score::default(), |sum, score| sum.plus(*score))
    }

    /// All sources but one.
    pub(super) fn without(&self, source: &str) -> Score {
        self.0.iter().filter(|(name, _)| *name != source).fold(Score::default(), |sum, (_, score)| sum.plus(*score))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alarms(calls: &[u64]) -> Vec<Alarm> {
        let alarm = |call: &u64| Alarm { call: *call, pattern: String::new(), pauses: false, sentence: String::new() };
        calls.iter().map(alarm).collect()
    }

    #[test]
    fn alarms_near_each_other_are_one_episode() {
        let mut score = Score::default();
        score.add(&alarms(&[5, 9, 40]), &[Span { start: 3, end: 7, is_loop: true }]);
        assert_eq!((score.right, score.wrong, score.found, score.loops), (1, 1, 1, 1));
    }

    #[test]
    fn an_alarm_in_a_doubtful_span_counts_neither_way() {
        let mut score = Score::default();
        score.add(&alarms(&[5]), &[Span { start: 3, end: 7, is_loop: false }]);
        assert_eq!((score.right, score.wrong, score.clean), (0, 0, 0));
    }
}
