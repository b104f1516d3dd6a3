//! JSON lines: one per step, one per session, and the total as the last. `belay schema audit` documents them.

use std::collections::BTreeMap;

use belay_core::effect::{Evidence, Spend};
use belay_core::event::Usage;
use belay_core::prices::Prices;
use belay_core::{InterventionLevel, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::advice::{Advice, advice};
use super::labels::LabelStyle;
use crate::loop_tracker::{Confidence, Loop, PlannedIntervention};
use crate::run::RuleSet;
use crate::session_report::SessionReport;
use crate::totals::Totals;

/// One line of `belay audit --json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line {
    /// The agent would have been nudged or paused.
    Alarm(InterventionLine),
    /// A notice would have been recorded, without an intervention.
    Notice(InterventionLine),
    /// A session, after all its alarms and notices.
    Session(Box<SessionLine>),
    /// The totals; the last line.
    Total(Box<TotalLine>),
}

/// A step that the policy would have taken.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct InterventionLine {
    /// The session: the name of its file if files were named, otherwise its id.
    pub session: String,
    /// The file it was read from.
    pub file: String,
    /// 0-based ordinal of the call whose result completed the evidence, otherwise of the latest call.
    pub call: u64,
    /// The pattern.
    pub pattern: String,
    /// The level of the intervention.
    pub action: InterventionLevel,
    /// 0-based ordinal of the first call of the evidence.
    pub from_call: u64,
    /// What was repeated, in one sentence.
    pub sentence: String,
    /// The calls of the evidence.
    pub evidence: Vec<Evidence>,
    /// Number of occurrences up to then.
    pub count: u32,
    /// Id of the finding, as in `belay explain`.
    pub finding: String,
    /// Time of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Id of the agent.
    pub agent: String,
    /// For a sub-agent: the session that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// In a comparison: the set of rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
}

/// One session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionLine {
    /// The same name as in its alarms.
    pub session: String,
    /// Id of the agent.
    pub agent: String,
    /// The agent's own id of the session.
    pub id: String,
    /// For a sub-agent: the session that started it. Its own calls are counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The file it was read from.
    pub file: String,
    /// All files that contain it, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// Repository or directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// First event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Last event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<Timestamp>,
    /// Tool calls.
    pub calls: u64,
    /// Tool results that were errors.
    pub errors: u64,
    /// Model responses.
    pub answers: u64,
    /// Prompts by a person.
    pub human_turns: u64,
    /// Compactions.
    pub compactions: u64,
    /// Tokens.
    pub usage: Usage,
    /// Millionths of a US dollar, without models whose price is unknown.
    pub cost_micros: u64,
    /// Tokens by model.
    pub models: BTreeMap<String, u64>,
    /// In a comparison: the set of rules; there is one line for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Loops.
    pub loops: u64,
    /// Nudges and pauses.
    pub alarms: u64,
    /// Notices.
    pub notices: u64,
    /// Call of the first nudge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nudged_at_call: Option<u64>,
    /// Call of the first pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_at_call: Option<u64>,
    /// What would have been saved.
    pub saved: SavedLine,
}

/// Cost of loops after the step that would have stopped them, until the session made progress, a person took a turn, or
/// it ended.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SavedLine {
    /// After the first nudge: saved if the agent follows it.
    pub after_nudge: Spend,
    /// After the first pause: saved in any case, because a pause holds the agent.
    pub after_pause: Spend,
    /// How sure the savings are: the lowest confidence of the loops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
}

/// The totals.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TotalLine {
    /// In a comparison: the set of rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Sessions, sub-agents not counted.
    pub sessions: u64,
    /// Sub-agents.
    pub sub_agents: u64,
    /// Tool calls.
    pub calls: u64,
    /// Prompts by people.
    pub human_turns: u64,
    /// Tokens.
    pub usage: Usage,
    /// Millionths of a US dollar, without models whose price is unknown.
    pub cost_micros: u64,
    /// Models whose price is unknown, with their tokens.
    pub unpriced: BTreeMap<String, u64>,
    /// Date of the built-in prices.
    pub prices_as_of: String,
    /// Loops.
    pub loops: u64,
    /// Sessions and sub-agents with a loop.
    pub looping_sessions: u64,
    /// Sessions and sub-agents that would have been nudged.
    pub nudged_sessions: u64,
    /// Sessions and sub-agents that would have been paused.
    pub paused_sessions: u64,
    /// Notices.
    pub notices: u64,
    /// What would have been saved.
    pub saved: SavedLine,
    /// Loops by pattern.
    pub patterns: BTreeMap<String, u64>,
    /// Files read.
    pub files: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
    /// Damaged or truncated lines.
    pub broken_lines: u64,
    /// Lines above the maximum length.
    pub too_long_lines: u64,
    /// Lines of binary data.
    pub binary_lines: u64,
    /// Lines of an unknown type, which are not damage.
    pub unknown_lines: u64,
    /// Files with damage.
    pub damaged_files: u64,
    /// Files whose content is also in other files; it counts once.
    pub copied_files: u64,
    /// Sessions that a filter excluded.
    pub left_out: u64,
    /// Files in the given directories that look like sessions but have an unknown format.
    pub unknown_files: u64,
    /// The patterns whose loops cost most after the first nudge, with what would have stopped them.
    pub advice: Vec<Advice>,
}

fn known(at: Timestamp) -> Option<Timestamp> {
    at.is_known().then_some(at)
}

/// The name of a set of rules, if there are two.
fn config(variants: &[RuleSet], at: usize) -> Option<String> {
    (variants.len() > 1).then(|| variants[at].name.clone())
}

/// The lines of one session: its steps in order, then the session.
pub fn lines(report: &SessionReport, names: LabelStyle, variants: &[RuleSet]) -> Vec<Line> {
    let parent = report.parent.as_ref().map(|parent| parent.id.to_string());
    let session = names.label(report);
    let file = report.files.first().map(|file| file.to_string_lossy().into_owned()).unwrap_or_default();
    let alarm = |alarm: &PlannedIntervention, variant: usize| InterventionLine {
        session: session.clone(),
        file: file.clone(),
        call: alarm.finding.call,
        pattern: alarm.finding.pattern.clone(),
        action: alarm.level,
        from_call: alarm.finding.from_call,
        sentence: alarm.finding.sentence.clone(),
        evidence: alarm.finding.evidence.clone(),
        count: alarm.finding.count,
        finding: alarm.finding.id.clone(),
        at: known(alarm.finding.at),
        agent: report.key.agent.to_string(),
        parent: parent.clone(),
        config: config(variants, variant),
    };
    let mut lines = Vec::new();
    for (at, judged) in report.judged.iter().enumerate() {
        let alarms = judged.alarms.iter().map(|one| Line::Alarm(alarm(one, at)));
        let notices = judged.notices.iter().map(|one| Line::Notice(alarm(one, at)));
        let from = lines.len();
        lines.extend(alarms.chain(notices));
        lines[from..].sort_by_key(|line| match line {
            Line::Alarm(step) | Line::Notice(step) => step.call,
            _ => u64::MAX,
        });
    }
    let several = report.files.len() > 1;
    for (at, judged) in report.judged.iter().enumerate() {
        let (after_nudge, after_pause) = judged.saved();
        lines.push(Line::Session(Box::new(SessionLine {
            session: session.clone(),
            agent: report.key.agent.to_string(),
            id: report.key.id.to_string(),
            parent: parent.clone(),
            file: file.clone(),
            files: several.then(|| report.files.iter().map(|file| file.to_string_lossy().into_owned()).collect()),
            project: report.project.clone(),
            started_at: known(report.started_at),
            last_at: known(report.last_at),
            calls: report.counters.calls,
            errors: report.counters.errors,
            answers: report.counters.answers,
            human_turns: report.counters.human_turns,
            compactions: report.counters.compactions,
            usage: report.spent.usage,
            cost_micros: report.spent.cost_micros,
            models: report.models.iter().map(|spend| (spend.model.clone(), spend.usage.total())).collect(),
            config: config(variants, at),
            loops: judged.loops.len() as u64,
            alarms: judged.alarms.len() as u64,
            notices: judged.noticed,
            nudged_at_call: judged.loops.iter().find_map(|one| one.nudge).map(|step| step.call),
            paused_at_call: judged.loops.iter().find_map(|one| one.pause).map(|step| step.call),
            saved: SavedLine { after_nudge, after_pause, confidence: judged.loops.iter().map(Loop::confidence).min() },
        })));
    }
    lines
}

/// The last line.
pub fn total(totals: &Totals, variants: &[RuleSet], at: usize) -> Line {
    Line::Total(Box::new(TotalLine {
        config: config(variants, at),
        sessions: totals.sessions,
        sub_agents: totals.sub_agents,
        calls: totals.spent.calls,
        human_turns: totals.human_turns,
        usage: totals.spent.usage,
        cost_micros: totals.spent.cost_micros,
        unpriced: totals.unpriced.clone(),
        prices_as_of: Prices::built_in().as_of.to_owned(),
        loops: totals.steps.loops,
        looping_sessions: totals.steps.looping,
        nudged_sessions: totals.steps.nudged,
        paused_sessions: totals.steps.paused,
        notices: totals.steps.notices,
        saved: SavedLine {
            after_nudge: totals.steps.after_nudge,
            after_pause: totals.steps.after_pause,
            confidence: None,
        },
        patterns: totals.patterns.clone(),
        files: totals.files,
        bytes: totals.tally.bytes,
        lines: totals.tally.lines,
        broken_lines: totals.tally.broken,
        too_long_lines: totals.tally.too_long,
        binary_lines: totals.tally.binary,
        unknown_lines: totals.tally.unknown,
        damaged_files: totals.damaged_files,
        copied_files: totals.copied_files,
        left_out: totals.left_out,
        unknown_files: totals.unknown_files,
        advice: advice(totals),
    }))
}
