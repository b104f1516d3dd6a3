//! The result of a replayed session.

use std::collections::BTreeMap;
use std::path::PathBuf;

use belay_core::effect::Spend;
use belay_core::session::Counters;
use belay_core::{SessionKey, Timestamp};
use jiff::civil::Date;

pub use crate::ledger::{DaySpend, ModelSpend};
use crate::loop_tracker::{Loop, PlannedIntervention, saved};

/// The result of one session.
#[derive(Clone, Debug)]
pub struct SessionReport {
    pub key: SessionKey,
    /// For a sub-agent: the session that started it.
    pub parent: Option<SessionKey>,
    /// Files that contain it, in reading order.
    pub files: Vec<PathBuf>,
    /// The file contains only this session and its sub-agents.
    pub own_file: bool,
    /// Repository or directory.
    pub project: Option<String>,
    /// First event.
    pub started_at: Timestamp,
    /// Last event.
    pub last_at: Timestamp,
    /// Event counts.
    pub counters: Counters,
    /// Usage and cost.
    pub spent: Spend,
    /// By model.
    pub models: Vec<ModelSpend>,
    /// By day.
    pub days: BTreeMap<Date, DaySpend>,
    /// Responses that report fewer output tokens than their text has.
    pub under_reported: u64,
    /// Interventions under each set of rules.
    pub judged: Vec<VariantResult>,
}

/// Interventions in a session under one set of rules.
#[derive(Clone, Debug, Default)]
pub struct VariantResult {
    /// Nudges and pauses.
    pub alarms: Vec<PlannedIntervention>,
    /// Notices.
    pub notices: Vec<PlannedIntervention>,
    /// Loops.
    pub loops: Vec<Loop>,
    /// Number of notices, including those not kept.
    pub noticed: u64,
}

impl VariantResult {
    /// Cost of loops after the first nudge, and after the first pause.
    pub fn saved(&self) -> (Spend, Spend) {
        saved(&self.loops)
    }
}

impl SessionReport {
    /// The model with the most tokens.
    pub fn main_model(&self) -> Option<&str> {
        self.models.iter().max_by_key(|spend| spend.usage.total()).map(|spend| spend.model.as_str())
    }

    /// Merges a session that was suspended and resumed.
    pub(crate) fn merge(&mut self, later: Self) {
        self.parent = self.parent.take().or(later.parent);
        for file in later.files {
            if !self.files.contains(&file) {
                self.files.push(file);
            }
        }
        self.project = self.project.take().or(later.project);
        if !self.started_at.is_known() {
            self.started_at = later.started_at;
        }
        self.last_at = self.last_at.max(later.last_at);
        add_counters(&mut self.counters, &later.counters);
        self.spent.add(&later.spent);
        self.under_reported += later.under_reported;
        for spend in later.models {
            match self.models.iter_mut().find(|known| known.model == spend.model) {
                Some(known) => {
                    known.usage.add(&spend.usage);
                    known.cost_micros = known.cost_micros.saturating_add(spend.cost_micros);
                    known.priced |= spend.priced;
                }
                None => self.models.push(spend),
            }
        }
        for (date, spend) in later.days {
            let day = self.days.entry(date).or_default();
            day.calls += spend.calls;
            day.tokens = day.tokens.saturating_add(spend.tokens);
            day.cost_micros = day.cost_micros.saturating_add(spend.cost_micros);
        }
        for (judged, more) in self.judged.iter_mut().zip(later.judged) {
            judged.alarms.extend(more.alarms);
            judged.notices.extend(more.notices);
            judged.loops.extend(more.loops);
            judged.noticed += more.noticed;
        }
    }
}

fn add_counters(sum: &mut Counters, more: &Counters) {
    sum.events += more.events;
    sum.calls += more.calls;
    sum.results += more.results;
    sum.errors += more.errors;
    sum.human_turns += more.human_turns;
    sum.answers += more.answers;
    sum.edits += more.edits;
    sum.failed_checks += more.failed_checks;
    sum.passed_checks += more.passed_checks;
    sum.findings += more.findings;
    sum.nudges += more.nudges;
    sum.pauses += more.pauses;
    sum.sub_agents += more.sub_agents;
    sum.compactions += more.compactions;
}
