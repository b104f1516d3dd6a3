//! Collects the results of a run for a report, and writes them as JSON lines as they arrive.

use std::io::{self, Write};

use belay_core::printable::escape_json;
use jiff::tz::TimeZone;

use crate::report::{Differences, LabelStyle, Line, compare, html, lines, text, total};
use crate::run::{AuditItem, RuleSet, SessionFilter};
use crate::totals::Totals;

/// Collects sessions and files.
#[derive(Debug)]
pub struct Collector<'a, W> {
    variants: &'a [RuleSet],
    filter: SessionFilter,
    names: LabelStyle,
    totals: Vec<Totals>,
    differences: Differences,
    out: Option<W>,
    failed: Option<io::Error>,
}

impl<'a, W: Write> Collector<'a, W> {
    /// With `out`, each step and session is written as soon as it is complete.
    pub fn new(variants: &'a [RuleSet], filter: SessionFilter, names: LabelStyle, out: Option<W>) -> Self {
        Self {
            variants,
            filter,
            names,
            totals: vec![Totals::default(); variants.len()],
            differences: Differences::default(),
            out,
            failed: None,
        }
    }

    /// Adds a result of [`crate::run()`].
    pub fn add(&mut self, told: AuditItem) {
        match told {
            AuditItem::File(file) => self.totals.iter_mut().for_each(|totals| totals.file(&file)),
            AuditItem::Session(report) if !self.filter.includes(&report) => {
                self.totals.iter_mut().for_each(|totals| totals.left_out += 1);
            }
            AuditItem::Session(report) => {
                for (at, totals) in self.totals.iter_mut().enumerate() {
                    totals.session(&report, at);
                }
                self.differences.session(self.names.label(&report), &report);
                if self.out.is_some() {
                    lines(&report, self.names, self.variants).iter().for_each(|line| self.write(line));
                }
            }
        }
    }

    /// Adds files that look like sessions but have an unknown format.
    pub fn add_unknown_files(&mut self, number: u64) {
        self.totals.iter_mut().for_each(|totals| totals.unknown_files += number);
    }

    /// After a failed write nothing more is written; the run continues.
    fn write(&mut self, line: &Line) {
        let Some(out) = self.out.as_mut().filter(|_| self.failed.is_none()) else { return };
        let json = serde_json::to_string(line).map_err(io::Error::from);
        let written = json.and_then(|json| writeln!(out, "{}", escape_json(&json)));
        self.failed = written.err();
    }

    /// Writes the last JSON lines and returns the report.
    pub fn finish(mut self) -> io::Result<Report> {
        self.totals.iter_mut().for_each(Totals::finish);
        if self.out.is_some() {
            for at in 0..self.totals.len() {
                let line = total(&self.totals[at], self.variants, at);
                self.write(&line);
            }
        }
        if let Some(error) = self.failed {
            return Err(error);
        }
        if let Some(out) = &mut self.out {
            out.flush()?;
        }
        let names = self.variants.iter().map(|variant| variant.name.clone()).collect();
        Ok(Report { totals: self.totals, differences: self.differences, names })
    }
}

/// The totals, for one set of rules or two.
#[derive(Debug)]
pub struct Report {
    totals: Vec<Totals>,
    differences: Differences,
    names: Vec<String>,
}

impl Report {
    /// The report as text; for two sets of rules, their comparison.
    pub fn text(&self, zone: &TimeZone) -> String {
        match (self.totals.as_slice(), self.names.as_slice()) {
            ([a, b], [first, second]) => compare([first, second], [a, b], &self.differences),
            (totals, _) => text(&totals[0], zone),
        }
    }

    /// The report as HTML; for two sets of rules, that of the first.
    pub fn html(&self, zone: &TimeZone) -> String {
        html(&self.totals[0], zone)
    }

    /// The totals under each set of rules.
    pub fn variants(&self) -> &[Totals] {
        &self.totals
    }

    /// The sessions with different results under two sets of rules.
    pub fn differences(&self) -> &Differences {
        &self.differences
    }

    /// The totals under the first set of rules.
    pub fn totals(&self) -> &Totals {
        &self.totals[0]
    }
}
