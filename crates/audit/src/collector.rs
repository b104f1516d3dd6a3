//! What a run tells, gathered for a report, and written as JSON lines while it comes in.

use std::io::{self, Write};

use jiff::tz::TimeZone;

use crate::report::{Differences, LabelStyle, Line, compare, html, lines, text, total};
use crate::run::{AuditItem, RuleSet, SessionFilter};
use crate::totals::Totals;

/// Gathers sessions and files.
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
    /// With `out`, every step and session is written there as soon as it is known.
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

    /// Takes in what [`crate::run()`] tells.
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
                self.differences.session(self.names.of(&report), &report);
                if self.out.is_some() {
                    lines(&report, self.names, self.variants).iter().for_each(|line| self.write(line));
                }
            }
        }
    }

    /// Nobody reads on once writing has failed; the run goes to its end all the same.
    fn write(&mut self, line: &Line) {
        let Some(out) = self.out.as_mut().filter(|_| self.failed.is_none()) else { return };
        let written =
            serde_json::to_writer(&mut *out, line).map_err(io::Error::from).and_then(|()| out.write_all(b"\n"));
        self.failed = written.err();
    }

    /// Everything is in: the last JSON lines are written, the report is ready.
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

/// The sums, for one set of rules or for two.
#[derive(Debug)]
pub struct Report {
    totals: Vec<Totals>,
    differences: Differences,
    names: Vec<String>,
}

impl Report {
    /// The report on a terminal; of two sets of rules, the comparison.
    pub fn text(&self, zone: &TimeZone) -> String {
        match (self.totals.as_slice(), self.names.as_slice()) {
            ([a, b], [first, second]) => compare([first, second], [a, b], &self.differences),
            (totals, _) => text(&totals[0], zone),
        }
    }

    /// The page; of two sets of rules, the first.
    pub fn html(&self, zone: &TimeZone) -> String {
        html(&self.totals[0], zone)
    }

    /// Sums by the first set of rules.
    pub fn totals(&self) -> &Totals {
        &self.totals[0]
    }
}
