//! Totals over sessions, and the most expensive loops.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use belay_agents::ReadStats;
use belay_agents::transcript::LineError;
use belay_core::effect::{Evidence, Spend};
use belay_core::event::Usage;
use belay_core::{SessionKey, Timestamp};
use jiff::civil::Date;

use crate::loop_tracker::Loop;
use crate::replay::FileReport;
use crate::session_report::SessionReport;

/// Maximum number of loops listed.
pub const MAX_LOOPS: usize = 200;

/// Maximum number of damaged files listed.
const MAX_DAMAGED_FILES: usize = 20;

/// Maximum number of copied files listed.
const MAX_COPIES: usize = 3;

/// The content of a report for one set of rules.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Sessions, sub-agents not counted.
    pub sessions: u64,
    /// Sub-agents.
    pub sub_agents: u64,
    /// Sessions and sub-agents with at least one call.
    pub working: u64,
    /// Prompts by people.
    pub human_turns: u64,
    /// Time of the first event.
    pub from: Timestamp,
    /// Time of the last event.
    pub to: Timestamp,
    /// Usage and cost.
    pub spent: Spend,
    /// Models whose price is unknown, with their tokens.
    pub unpriced: BTreeMap<String, u64>,
    /// Responses that report fewer output tokens than their text has.
    pub under_reported: u64,
    /// Interventions under these rules.
    pub steps: InterventionCounts,
    /// By agent.
    pub agents: BTreeMap<String, GroupTotals>,
    /// By model.
    pub models: BTreeMap<String, GroupTotals>,
    /// By project.
    pub projects: BTreeMap<String, GroupTotals>,
    /// By day.
    pub days: BTreeMap<Date, GroupTotals>,
    /// Number of loops by pattern.
    pub patterns: BTreeMap<String, u64>,
    /// Cost of loops after the first nudge, by pattern.
    pub costs: BTreeMap<String, Spend>,
    /// Loops with the highest cost after the first intervention, most expensive first.
    pub worst: Vec<RankedLoop>,
    /// Files read.
    pub files: u64,
    /// Lines read and damaged.
    pub tally: ReadStats,
    /// Damaged files, up to a limit.
    pub damaged: Vec<DamagedFile>,
    /// Number of damaged files.
    pub damaged_files: u64,
    /// Files that only repeat others, up to a limit.
    pub copies: Vec<PathBuf>,
    /// Number of files that only repeat others.
    pub copied_files: u64,
    /// Sessions that a filter excluded.
    pub left_out: u64,
    /// Files whose format is unknown.
    pub unknown_files: u64,
}

/// Interventions under these rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InterventionCounts {
    /// Loops.
    pub loops: u64,
    /// Sessions with a loop.
    pub looping: u64,
    /// Sessions that would have been nudged.
    pub nudged: u64,
    /// Sessions that would have been paused.
    pub paused: u64,
    /// Notices.
    pub notices: u64,
    /// Cost of loops after the first nudge.
    pub after_nudge: Spend,
    /// Cost of loops after the first pause.
    pub after_pause: Spend,
    /// Number of loops of low, medium and high confidence.
    pub by_confidence: [u64; 3],
}

/// Totals of one row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupTotals {
    /// Sessions and sub-agents.
    pub sessions: u64,
    /// Tool calls.
    pub calls: u64,
    /// Tokens.
    pub tokens: u64,
    /// Millionths of a US dollar.
    pub cost_micros: u64,
    /// Loops.
    pub loops: u64,
    /// Millionths of a US dollar spent in loops after the first nudge.
    pub saved_micros: u64,
    /// Tokens spent in loops after the first nudge.
    pub saved_tokens: u64,
}

/// A loop and its session.
#[derive(Clone, Debug)]
pub struct RankedLoop {
    pub session: SessionKey,
    /// For a sub-agent: its parent.
    pub parent: Option<SessionKey>,
    pub file: PathBuf,
    pub project: Option<String>,
    /// Start of the session.
    pub started_at: Timestamp,
    pub repeated: Loop,
    /// The evidence.
    pub evidence: Vec<Evidence>,
}

/// A file that could not be read completely.
#[derive(Clone, Debug)]
pub struct DamagedFile {
    pub path: PathBuf,
    /// Number of damaged lines.
    pub lines: u64,
    /// The first damaged lines.
    pub errors: Vec<(u64, LineError)>,
    /// The error, if it could not be read at all.
    pub failed: Option<String>,
}

impl Totals {
    /// Adds a session; `variant` is the index of the set of rules.
    pub fn session(&mut self, report: &SessionReport, variant: usize) {
        match report.parent {
            Some(_) => self.sub_agents += 1,
            None => self.sessions += 1,
        }
        self.working += u64::from(report.counters.calls > 0);
        self.human_turns += report.counters.human_turns;
        if report.started_at.is_known() && (!self.from.is_known() || report.started_at < self.from) {
            self.from = report.started_at;
        }
        self.to = self.to.max(report.last_at);
        self.spent.add(&report.spent);
        let Some(judged) = report.judged.get(variant) else { return };
        let (after_nudge, after_pause) = judged.saved();
        self.steps.loops += judged.loops.len() as u64;
        self.steps.looping += u64::from(!judged.loops.is_empty());
        self.steps.nudged += u64::from(judged.loops.iter().any(|one| one.nudge.is_some()));
        self.steps.paused += u64::from(judged.loops.iter().any(|one| one.pause.is_some()));
        self.steps.notices += judged.noticed;
        for one in &judged.loops {
            self.steps.by_confidence[one.confidence() as usize] += 1;
        }
        self.steps.after_nudge.add(&after_nudge);
        self.steps.after_pause.add(&after_pause);
        let group = GroupTotals {
            sessions: 1,
            calls: report.counters.calls,
            tokens: report.spent.usage.total(),
            cost_micros: report.spent.cost_micros,
            loops: judged.loops.len() as u64,
            saved_micros: after_nudge.cost_micros,
            saved_tokens: after_nudge.usage.total(),
        };
        self.agents.entry(report.key.agent.to_string()).or_default().add(&group);
        let project = report.project.as_deref().unwrap_or("unknown project");
        self.projects.entry(project.to_owned()).or_default().add(&group);
        self.under_reported += report.under_reported;
        self.models(report, &group);
        self.days(report, &group);
        self.loops(report, variant);
    }

    /// Counts loops and calls for the model with the most tokens, and tokens and cost for each model.
    fn models(&mut self, report: &SessionReport, group: &GroupTotals) {
        let main = report.main_model();
        for spend in &report.models {
            let own = GroupTotals { tokens: spend.usage.total(), cost_micros: spend.cost_micros, ..*group };
            let part =
                GroupTotals { tokens: own.tokens, cost_micros: own.cost_micros, sessions: 1, ..GroupTotals::default() };
            let whole = main == Some(spend.model.as_str());
            self.models.entry(spend.model.clone()).or_default().add(if whole { &own } else { &part });
            if !spend.priced {
                let unpriced = self.unpriced.entry(spend.model.clone()).or_default();
                *unpriced = unpriced.saturating_add(spend.usage.total());
            }
        }
    }

    /// Counts a session on each day of activity, and its loops on its first day.
    fn days(&mut self, report: &SessionReport, group: &GroupTotals) {
        for (at, (date, spend)) in report.days.iter().enumerate() {
            let rest = if at == 0 { *group } else { GroupTotals::default() };
            self.days.entry(*date).or_default().add(&GroupTotals {
                sessions: 1,
                calls: spend.calls,
                tokens: spend.tokens,
                cost_micros: spend.cost_micros,
                ..rest
            });
        }
    }

    fn loops(&mut self, report: &SessionReport, variant: usize) {
        let Some(judged) = report.judged.get(variant) else { return };
        for one in &judged.loops {
            *self.patterns.entry(one.pattern.clone()).or_default() += 1;
            self.costs.entry(one.pattern.clone()).or_default().add(&one.after_nudge);
            let inside = |alarm: &&crate::loop_tracker::PlannedIntervention| {
                (one.from_call..=one.to_call).contains(&alarm.finding.call)
            };
            let evidence = judged.alarms.iter().rfind(inside).map(|alarm| alarm.finding.evidence.clone());
            self.worst.push(RankedLoop {
                session: report.key.clone(),
                parent: report.parent.clone(),
                file: report.files.first().cloned().unwrap_or_default(),
                project: report.project.clone(),
                started_at: report.started_at,
                repeated: one.clone(),
                evidence: evidence.unwrap_or_default(),
            });
        }
        if self.worst.len() > 2 * MAX_LOOPS {
            self.rank();
        }
    }

    fn rank(&mut self) {
        let weight = |worst: &RankedLoop| {
            let after = &worst.repeated.after_nudge;
            (after.cost_micros, after.usage.total(), after.calls, worst.repeated.to_call - worst.repeated.from_call)
        };
        self.worst.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.session.cmp(&b.session)));
        self.worst.truncate(MAX_LOOPS);
    }

    /// Adds a file.
    pub fn file(&mut self, file: &FileReport) {
        self.files += 1;
        if file.is_copy {
            self.copied_files += 1;
            if self.copies.len() < MAX_COPIES {
                self.copies.push(file.path.clone());
            }
        }
        let damage = match &file.result {
            Ok(tally) => {
                self.tally.add(tally);
                (tally.damaged_lines() > 0).then(|| DamagedFile {
                    path: file.path.clone(),
                    lines: tally.damaged_lines(),
                    errors: tally.errors.clone(),
                    failed: None,
                })
            }
            Err(error) => {
                let why = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
                let why: Vec<String> = why.map(ToString::to_string).collect();
                let failed = Some(why.join(": "));
                Some(DamagedFile { path: file.path.clone(), lines: 0, errors: Vec::new(), failed })
            }
        };
        if let Some(damage) = damage {
            self.damaged_files += 1;
            if self.damaged.len() < MAX_DAMAGED_FILES {
                self.damaged.push(damage);
            }
        }
    }

    /// Sorts the loops after the last session was added.
    pub fn finish(&mut self) {
        self.rank();
    }

    /// Names of the agents.
    pub fn agent_names(&self) -> BTreeSet<&str> {
        self.agents.keys().map(String::as_str).collect()
    }

    /// Tokens of models whose price is unknown.
    pub fn unpriced_tokens(&self) -> u64 {
        self.unpriced.values().sum()
    }

    /// All tokens.
    pub fn usage(&self) -> &Usage {
        &self.spent.usage
    }
}

impl GroupTotals {
    pub(crate) fn add(&mut self, more: &Self) {
        self.sessions += more.sessions;
        self.calls += more.calls;
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.cost_micros = self.cost_micros.saturating_add(more.cost_micros);
        self.loops += more.loops;
        self.saved_micros = self.saved_micros.saturating_add(more.saved_micros);
        self.saved_tokens = self.saved_tokens.saturating_add(more.saved_tokens);
    }
}
