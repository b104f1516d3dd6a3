//! `belay audit` on made-up histories, as its users meet it.

mod history;
mod report;
mod robust;
mod wording;

use std::path::{Path, PathBuf};

use belay_audit::find::{Only, Problem};
use belay_audit::replay::Settings;
use belay_audit::report::Names;
use belay_audit::{Collector, Filter, Progress, Report, Variant, Where, find};
use belay_core::Rules;
use jiff::tz::TimeZone;

/// An audit of some paths: the report, the JSON lines, and what was wrong with the paths.
pub(crate) struct Audited {
    pub(crate) report: Report,
    pub(crate) lines: Vec<serde_json::Value>,
    pub(crate) problems: Vec<Problem>,
}

pub(crate) fn audit(paths: &[&Path]) -> Audited {
    audit_with(paths, Filter::default(), &[Variant::fixed("default", Rules::default())])
}

pub(crate) fn audit_with(paths: &[&Path], filter: Filter, variants: &[Variant]) -> Audited {
    let place = Where::Paths(paths.iter().map(PathBuf::from).collect());
    let found = find(&place, Only::default());
    let settings = Settings { variants, zone: TimeZone::UTC, keep_notices: true };
    let mut written = Vec::new();
    let mut collector = Collector::new(variants, filter, Names::Files, Some(&mut written));
    belay_audit::run(found.sources, &settings, None, &Progress::default(), |told| collector.take(told));
    let report = collector.finish().expect("memory can be written to");
    let lines = written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines = lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect();
    Audited { report, lines, problems: found.problems }
}

impl Audited {
    /// The lines of one type.
    pub(crate) fn of(&self, kind: &str) -> Vec<&serde_json::Value> {
        self.lines.iter().filter(|line| line["type"] == kind).collect()
    }

    pub(crate) fn text(&self, folder: &Path) -> String {
        self.report.text(&TimeZone::UTC).replace(&*folder.to_string_lossy(), "[folder]")
    }
}
