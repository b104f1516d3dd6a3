//! Compares two sets of rules over the same history.

use std::fmt::Write as _;

use belay_core::SessionKey;
use belay_core::format::{compact, grouped};

use super::format::money;
use crate::session_report::{SessionReport, VariantResult};
use crate::totals::Totals;

/// Maximum number of differing sessions listed.
const MAX_SESSIONS: usize = 10;

/// A session with different results under two sets of rules.
#[derive(Clone, Debug)]
pub struct Difference {
    pub session: SessionKey,
    pub name: String,
    /// The sentence of the first intervention under each set of rules.
    pub sentences: [Option<String>; 2],
    /// The call of the first intervention under each set of rules.
    pub calls: [Option<u64>; 2],
}

/// Sessions with different results under two sets of rules: all counted, some listed.
#[derive(Clone, Debug, Default)]
pub struct Differences {
    named: Vec<Difference>,
    only: [u64; 2],
    earlier: [u64; 2],
}

impl Differences {
    /// Some of the sessions, those with interventions under only one set of rules preferred.
    pub fn named(&self) -> &[Difference] {
        &self.named
    }

    /// Adds a session.
    pub fn session(&mut self, name: String, report: &SessionReport) {
        let [a, b] = report.judged.as_slice() else { return };
        let first = |judged: &VariantResult| judged.alarms.iter().map(|alarm| alarm.finding.call).min();
        let calls = [first(a), first(b)];
        match calls {
            [Some(_), None] => self.only[0] += 1,
            [None, Some(_)] => self.only[1] += 1,
            [Some(one), Some(other)] if one < other => self.earlier[0] += 1,
            [Some(one), Some(other)] if one > other => self.earlier[1] += 1,
            _ => return,
        }
        let sentence = |judged: &VariantResult| judged.alarms.first().map(|alarm| alarm.finding.sentence.clone());
        // Sessions with interventions under only one set of rules are the most relevant.
        let one_sided = calls[0].is_none() || calls[1].is_none();
        if self.named.len() < MAX_SESSIONS && (one_sided || self.named.len() < MAX_SESSIONS / 2) {
            self.named.push(Difference {
                session: report.key.clone(),
                name,
                sentences: [sentence(a), sentence(b)],
                calls,
            });
        }
    }
}

/// The comparison as text.
pub fn compare(names: [&str; 2], totals: [&Totals; 2], differences: &Differences) -> String {
    let mut out = String::new();
    let [a, b] = names;
    let width = a.chars().count().max(b.chars().count()).max(12);
    let _ = writeln!(out, "{:<28} {a:>width$}  {b:>width$}", "");
    let mut row = |name: &str, value: &dyn Fn(&Totals) -> String| {
        let _ = writeln!(out, "  {name:<26} {:>width$}  {:>width$}", value(totals[0]), value(totals[1]));
    };
    row("loops", &|t| grouped(t.steps.loops));
    row("sessions with a loop", &|t| grouped(t.steps.looping));
    row("sessions nudged", &|t| grouped(t.steps.nudged));
    row("sessions paused", &|t| grouped(t.steps.paused));
    row("notices", &|t| grouped(t.steps.notices));
    row("saved after a nudge", &|t| money(&t.steps.after_nudge));
    row("  tokens", &|t| compact(t.steps.after_nudge.usage.total()));
    row("  calls", &|t| grouped(t.steps.after_nudge.calls));
    row("saved after a pause", &|t| money(&t.steps.after_pause));
    let mut patterns: Vec<&String> = totals[0].patterns.keys().chain(totals[1].patterns.keys()).collect();
    patterns.sort();
    patterns.dedup();
    for pattern in patterns {
        row(pattern, &|t| grouped(t.patterns.get(pattern).copied().unwrap_or(0)));
    }
    out.push('\n');
    let _ = writeln!(
        out,
        "Steps in only by {a}: {}; only by {b}: {}; earlier by {a}: {}; earlier by {b}: {}.",
        differences.only[0], differences.only[1], differences.earlier[0], differences.earlier[1]
    );
    for difference in &differences.named {
        let _ = writeln!(out, "\n  {}", difference.name);
        for (at, name) in names.iter().enumerate() {
            let what = match (&difference.sentences[at], difference.calls[at]) {
                (Some(sentence), Some(call)) => format!("call {call}: {sentence}"),
                _ => "silent".to_owned(),
            };
            let _ = writeln!(out, "    {name}: {what}");
        }
    }
    out
}
