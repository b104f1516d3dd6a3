//! Views of pages that no command has, built by the server for the page alone.

use belay_core::effect::InterventionLevel;
use belay_core::{Subject, Timestamp};
use belay_ipc::views::{CallView, IncidentView, SessionView, SpendView};

/// Which incidents a page lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncidentFilter {
    #[default]
    Open,
    Acknowledged,
    Closed,
}

/// The page of incidents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IncidentsPage {
    pub filter: IncidentFilter,
    pub open: u64,
    pub acknowledged: u64,
    pub closed: u64,
    /// The incidents of the filter, longest open first; closed ones newest first.
    pub incidents: Vec<IncidentItem>,
    /// Closed since midnight, newest first; listed below the open ones.
    pub closed_today: Vec<IncidentItem>,
    pub selected: Option<IncidentDetail>,
    /// The newest decisions, newest first.
    pub decisions: Vec<DecisionLine>,
}

/// An incident with its session.
#[derive(Clone, Debug, PartialEq)]
pub struct IncidentItem {
    pub incident: IncidentView,
    pub session: SessionView,
    /// "killed by you", for a closed incident.
    pub closed_how: Option<String>,
}

/// Everything about one incident.
#[derive(Clone, Debug, PartialEq)]
pub struct IncidentDetail {
    pub item: IncidentItem,
    /// The last calls, to draw the shape of the loop.
    pub calls: Vec<CallView>,
    /// The pairs of the finding in the order of the cycle.
    pub pairs: Vec<String>,
    /// Number of the first call that belongs to the finding.
    pub finding_from: Option<u64>,
    /// What the hold has avoided so far, estimated.
    pub saved_micros: Option<u64>,
    /// The budget that a person would probably set next.
    pub next_budget_micros: Option<u64>,
    /// Oldest first.
    pub happened: Vec<HappenedLine>,
}

/// Something that happened to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HappenedLine {
    pub at: Timestamp,
    pub kind: HappenedKind,
    pub text: String,
}

/// What kind of thing happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HappenedKind {
    Intervened(InterventionLevel),
    /// A person decided or looked.
    Person,
}

/// Where a decision was made, as far as its author's name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedIn {
    Browser,
    /// By a program that did not name anyone.
    Api,
    CommandLine,
}

impl DecidedIn {
    /// `by` is the recorded name.
    pub fn from_name(by: Option<&str>) -> Self {
        match by {
            None => Self::Api,
            Some(name) if crate::frame::is_browser(name) => Self::Browser,
            Some(_) => Self::CommandLine,
        }
    }
}

/// A decision of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionLine {
    pub at: Timestamp,
    pub who: String,
    /// "resumed", "killed", "raised the budget of"
    pub verb: String,
    pub about: Subject,
    pub title: String,
    /// The note, or a budget: "only with a changed plan".
    pub detail: String,
    pub decided_in: DecidedIn,
    /// What came of it, and how we know.
    pub effect: String,
}

/// The page of past sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryPage {
    /// The audit that runs, if any.
    pub running: Option<AuditProgress>,
    /// Finished audits, newest first.
    pub audits: Vec<AuditLine>,
    /// The last answer to "what would this setting have done".
    pub trial: Option<SettingTrial>,
    /// Keys that can be tried, with their current value.
    pub keys: Vec<(String, String)>,
    /// The key that the reader came to try.
    pub selected: Option<String>,
    /// The key that the reader came to try, if it cannot be tried.
    pub not_tried: Option<String>,
}

/// An audit that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditProgress {
    pub id: String,
    pub started_at: Timestamp,
    pub done: u64,
    /// `None` while session files are still searched.
    pub total: Option<u64>,
    /// "all sessions since Oct 19"
    pub scope: String,
}

/// A finished audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLine {
    pub id: String,
    pub at: Timestamp,
    pub scope: String,
    pub sessions: u64,
    pub calls: u64,
    pub cost_micros: u64,
    pub loops: u64,
    pub wasted_micros: u64,
    /// It failed, and why.
    pub error: Option<String>,
}

/// What a setting would have done on past sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingTrial {
    pub key: String,
    pub value: String,
    pub current: String,
    pub sessions: u64,
    pub before: TrialOutcome,
    pub after: TrialOutcome,
    /// Sessions whose result differs: session (empty if it has no page), title, what changes.
    pub differences: Vec<(String, String, String)>,
}

/// Interventions in past sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrialOutcome {
    pub nudges: u64,
    pub pauses: u64,
    pub wasted_micros: u64,
}

/// The page of spend.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpendPage {
    /// Number of days that the page covers.
    pub days: u32,
    pub total: SpendView,
    /// Oldest first; the name is a date such as `2026-11-18`.
    pub by_day: Vec<SpendView>,
    /// Highest cost first.
    pub by_project: Vec<SpendView>,
    pub by_model: Vec<SpendView>,
    pub by_agent: Vec<SpendView>,
}

/// The page of settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingsPage {
    pub sections: Vec<SettingsSection>,
    /// The file that edits go to.
    pub file: String,
}

/// A section of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsSection {
    pub name: String,
    pub description: String,
    pub keys: Vec<SettingView>,
}

/// One key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingView {
    pub key: String,
    pub description: String,
    /// The value in TOML; masked if it is a secret.
    pub value: String,
    /// "built-in", "~/.config/belay/config.toml:12"
    pub source: String,
    /// It differs from the built-in value.
    pub changed: bool,
    pub secret: bool,
    /// Allowed values, if there are few.
    pub choices: Vec<String>,
    /// Why it cannot be edited here.
    pub fixed: Option<String>,
    /// Another value can be tried on past sessions.
    pub can_be_tried: bool,
}

/// What the form that files a review task offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewForm {
    /// The agents that can build and review, preferred ones first.
    pub agents: Vec<AgentChoice>,
    /// Absolute paths of the projects in which tasks may work, newest first.
    pub project_dirs: Vec<String>,
    /// Rounds that a task gets unless the person says otherwise.
    pub rounds: u32,
    /// Minutes that a round may take unless the person says otherwise; `None` if there is no limit.
    pub round_minutes: Option<u64>,
    /// The queue takes no further task.
    pub queue_is_full: bool,
}

/// An agent that can take part in a review task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentChoice {
    pub id: String,
    pub name: String,
    /// Its CLI was found on this machine.
    pub installed: bool,
}

/// The page before the first session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LandingPage {
    pub agents: Vec<FoundAgent>,
}

/// An agent on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAgent {
    /// Its id.
    pub agent: String,
    pub version: Option<String>,
    pub installed: bool,
    /// Belay's hooks are in its settings.
    pub supervised: bool,
}
