//! Tests of `belay audit` on generated histories.

mod history;
mod live;
mod report;
mod robust;
mod wording;

use std::path::{Path, PathBuf};

use belay_audit::discover::{DiscoveryError, SearchFilter};
use belay_audit::replay::ReplayOptions;
use belay_audit::report::LabelStyle;
use belay_audit::{Collector, Progress, Report, RuleSet, SearchScope, SessionFilter, find};
use belay_core::Rules;
use jiff::tz::TimeZone;

/// An audit of some paths: the report, the JSON lines, and what was wrong with the paths.
pub(crate) struct Audited {
    pub(crate) report: Report,
    pub(crate) lines: Vec<serde_json::Value>,
    pub(crate) problems: Vec<DiscoveryError>,
}

pub(crate) fn audit(paths: &[&Path]) -> Audited {
    audit_with(paths, SessionFilter::default(), &[RuleSet::fixed("default", Rules::default())])
}

pub(crate) fn audit_with(paths: &[&Path], filter: SessionFilter, variants: &[RuleSet]) -> Audited {
    let place = SearchScope::Paths(paths.iter().map(PathBuf::from).collect());
    let found = find(&place, SearchFilter::default());
    let settings = ReplayOptions { variants, zone: TimeZone::UTC, keep_notices: true };
    let mut written = Vec::new();
    let mut collector = Collector::new(variants, filter, LabelStyle::Files, Some(&mut written));
    collector.add_unknown_files(found.left_out_count);
    belay_audit::run(found.sources, &settings, None, &Progress::default(), |told| collector.add(told));
    let report = collector.finish().expect("memory can be written to");
    let lines = written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines = lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect();
    Audited { report, lines, problems: found.problems }
}

impl Audited {
    /// The lines of one type.
    pub(crate) fn of_kind(&self, kind: &str) -> Vec<&serde_json::Value> {
        self.lines.iter().filter(|line| line["type"] == kind).collect()
    }

    pub(crate) fn text(&self, dir: &Path) -> String {
        self.report.text(&TimeZone::UTC).replace(&*dir.to_string_lossy(), "[directory]")
    }
}
