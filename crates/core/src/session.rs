//! One agent conversation: its state, counters, progress clock and the window that detectors evaluate.
//!
//! [`Session::apply`] is the only way a session changes. It is deterministic: the same events in the same
//! order under the same [`Rules`](crate::Rules) produce the same session and the same effects. It is
//! idempotent: a duplicate event changes nothing. It is bounded: the serialised session stays below
//! [`MAX_SESSION_BYTES`], and the cost of an event does not grow with the session.

mod activity;
mod apply;
mod budget;
mod by_products;
mod call;
mod call_record;
mod call_strip;
mod call_window;
mod complaints;
mod dialogue;
mod evidence;
mod external_facts;
mod file_history;
mod identities;
mod known_lines;
mod operator;
mod prompt_phrases;
mod request_history;
mod seen_set;
mod sensor_dedup;
mod spend_meter;
mod spending;
mod state;
mod timers;
mod unanswered;
mod word_novelty;

pub use activity::Activity;
pub use budget::{Budget, BudgetError};
pub use call::{Call, CallFlags, CallResult, ShortDigest};
pub use call_record::{CallFigures, CallMark, CallRecord, NewestCall};
pub use call_strip::{CallBucket, CallStrip, MAX_BUCKETS};
pub use call_window::{CALL_WINDOW, CallWindow};
pub use complaints::{Complaint, Complaints};
pub use dialogue::Dialogue;
pub use file_history::FileHistory;
pub use identities::{MAX_RECENT, RecentIdentities};
use operator::PAUSED;
pub use operator::{KILLED, MAX_COOLDOWN};
pub use request_history::RequestHistory;
pub use seen_set::SeenSet;
use sensor_dedup::SensorDedup;
pub use spend_meter::{BURN_MINUTES, SpendMeter};
pub use spending::Charge;
pub use state::{ResumeCondition, ResumeRequires, SessionState, StateName};
pub use word_novelty::{Intent, KnownWords};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::effect::{Incident, Spend, Verdict};
use crate::event::{SharedSpend, Usage};
use crate::key::SessionKey;
use crate::policy::FindingTracker;
use crate::rules::UnknownModel;
use crate::status::PhaseRecord;
use crate::time::Timestamp;
use crate::wait::Awaited;

/// Maximum size of a serialised session.
pub const MAX_SESSION_BYTES: usize = 76 * 1024;

/// Version of the serialised form. A snapshot of another version is ignored and the session is rebuilt from
/// its log.
pub const SESSION_FORMAT: u16 = 7;

/// One agent conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// The session's key.
    pub key: SessionKey,
    /// For a sub-agent: the session that started it.
    pub parent: Option<SessionKey>,
    /// Whether the agent may continue.
    pub state: SessionState,
    /// Project, model, process and other facts.
    pub facts: SessionFacts,
    /// Event counters.
    pub counters: Counters,
    /// Cost of this session.
    pub spent: Spend,
    /// Cost of all descendants.
    pub beneath: Spend,
    /// Cost since the last progress.
    pub clock: ProgressClock,
    /// Limits set by an operator; they override the rules.
    pub budget: Budget,
    /// Configuration keys that an operator has set for this session only; who applies events chooses the rules by them.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The open incident, if any.
    pub incident: Option<Incident>,
    /// The declared wait, if any.
    pub waiting: Option<DeclaredWait>,
    /// What the agent does or waits for, by the last event that tells.
    #[serde(default)]
    pub phase: PhaseRecord,
    /// Identities of recent events.
    identities: RecentIdentities,
    /// Recent verdicts, so that a repeated question gets the same verdict.
    verdicts: Vec<(Digest, Verdict)>,
    /// Plans named so far. A changed plan differs from all of them.
    plans: Vec<Digest>,
    /// The most recent calls.
    window: CallWindow,
    /// All calls, summarised.
    pub strip: CallStrip,
    /// Actions, outcomes and contents seen so far.
    seen: SeenSet,
    /// Words of inputs and outputs seen so far.
    known_words: KnownWords,
    /// Interventions per finding, and pending nudges.
    findings: FindingTracker,
    /// Prompts and responses between calls.
    dialogue: Dialogue,
    /// What the person complains about.
    #[serde(default)]
    complaints: Complaints,
    /// Model requests, for sensors that do not see tool calls.
    request_history: RequestHistory,
    /// Content digests of files.
    file_history: FileHistory,
    /// Tokens and cost over time.
    meter: SpendMeter,
    /// Running tools, sub-agents and prompts.
    activity: Activity,
    /// A declared wait ended and no call has followed yet.
    wait_just_ended: bool,
    /// Calls since the last progress, without polls and plans.
    calls_since_progress: u64,
    /// The limits in force, see [`spending`].
    limits: [u64; spending::LIMIT_COUNT],
    /// What a model without a price means for them.
    #[serde(default)]
    unknown_model: UnknownModel,
    /// The latest reported cost of all sessions of the project and the account.
    shared: SharedSpend,
    /// Digest of the credential, if the proxy has seen it.
    pub account: Option<Digest>,
    /// Which sensors report, for deduplication.
    #[serde(default)]
    sensor_dedup: SensorDedup,
}

/// Facts about a session besides its events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionFacts {
    /// Repository or directory of the work.
    pub project: Option<String>,
    /// Working directory of the agent.
    pub cwd: Option<String>,
    /// The most recent model.
    pub model: Option<String>,
    /// The most recent model without a known price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpriced_model: Option<String>,
    /// Branch.
    pub branch: Option<String>,
    /// Task name.
    pub task: Option<String>,
    /// Path of the agent's session file.
    pub transcript: Option<String>,
    /// Agent version.
    pub agent_version: Option<String>,
    /// Process id of the agent.
    pub pid: Option<u32>,
    /// Time of the first event.
    pub started_at: Timestamp,
    /// Time of the newest event.
    pub last_at: Timestamp,
    /// When the agent ended the session, unless it has resumed since.
    pub ended_at: Option<Timestamp>,
    /// The first line of the first prompt by a person, redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_prompt: Option<String>,
    /// When a person last looked at the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<Timestamp>,
}

/// Event counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Counters {
    /// Events applied.
    pub events: u64,
    /// Tool calls.
    pub calls: u64,
    /// Tool results.
    pub results: u64,
    /// Tool results that were errors.
    pub errors: u64,
    /// Prompts by a person.
    pub human_turns: u64,
    /// Model responses.
    pub answers: u64,
    /// File changes.
    pub edits: u64,
    /// Test, build and lint runs that failed.
    pub failed_checks: u64,
    /// Test, build and lint runs that passed.
    pub passed_checks: u64,
    /// Findings at any level.
    pub findings: u64,
    /// Nudges issued.
    pub nudges: u64,
    /// Pauses issued by the policy.
    pub pauses: u64,
    /// Sub-agents started.
    pub sub_agents: u64,
    /// Compactions.
    pub compactions: u64,
}

/// Cost since the last progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProgressClock {
    /// Time of the last progress.
    pub at: Timestamp,
    /// Spend since then.
    pub since: Spend,
}

/// A declared wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeclaredWait {
    /// Start of the wait.
    pub since: Timestamp,
    /// Latest end of the wait.
    pub until: Option<Timestamp>,
    /// What it waits for.
    pub what: String,
    /// The conditions, all of which must be met; empty if only the text is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub all: Vec<Awaited>,
}

impl Session {
    pub fn new(key: SessionKey) -> Self {
        Self {
            key,
            parent: None,
            state: SessionState::Active,
            facts: SessionFacts::default(),
            counters: Counters::default(),
            spent: Spend::default(),
            beneath: Spend::default(),
            clock: ProgressClock::default(),
            budget: Budget::default(),
            settings: BTreeMap::new(),
            incident: None,
            waiting: None,
            phase: PhaseRecord::default(),
            identities: RecentIdentities::default(),
            verdicts: Vec::new(),
            plans: Vec::new(),
            window: CallWindow::default(),
            strip: CallStrip::default(),
            seen: SeenSet::default(),
            known_words: KnownWords::default(),
            findings: FindingTracker::default(),
            dialogue: Dialogue::default(),
            complaints: Complaints::default(),
            request_history: RequestHistory::default(),
            file_history: FileHistory::default(),
            meter: SpendMeter::default(),
            activity: Activity::default(),
            wait_just_ended: false,
            calls_since_progress: 0,
            limits: [0; spending::LIMIT_COUNT],
            unknown_model: UnknownModel::default(),
            shared: SharedSpend::default(),
            account: None,
            sensor_dedup: SensorDedup::default(),
        }
    }

    /// Whether an event with this identity was applied recently. The store detects older duplicates.
    pub fn is_duplicate(&self, identity: Digest) -> bool {
        self.identities.contains(identity)
    }

    /// The verdict on an earlier event, so that a repeated question gets the same verdict.
    pub fn repeat_verdict(&self, identity: Digest) -> Verdict {
        match self.verdicts.iter().rev().find(|(asked, _)| *asked == identity) {
            Some((_, verdict)) => verdict.clone(),
            None => self.hold_verdict(),
        }
    }

    /// Whether the agent's calls are refused.
    fn is_held(&self) -> bool {
        self.state.is_paused() || self.state.is_killed()
    }

    /// The verdict that follows from the state alone.
    pub fn hold_verdict(&self) -> Verdict {
        match self.state.effective() {
            SessionState::Paused { incident, until, gate, .. } => {
                let head = match (until, gate) {
                    (Some(until), _) => format!("Belay holds this session until {until}"),
                    (None, ResumeCondition::Plan) => "Belay holds this session until a changed plan is named (start \
                         the next prompt with \"plan:\", or run `belay resume --plan TEXT`)"
                        .to_owned(),
                    (None, ResumeCondition::Operator) => {
                        let who = if self.is_held_by_person() { "A person" } else { "Belay" };
                        format!("{who} paused this session (`belay resume {}`)", self.key.short_id())
                    }
                };
                let reason = self.incident_reason();
                Verdict::Hold {
                    incident: incident.clone(),
                    reason: if reason.is_empty() { format!("{head}.") } else { format!("{head}: {reason}") },
                    until: *until,
                    plan_required: *gate == ResumeCondition::Plan,
                }
            }
            SessionState::Killed { incident, .. } => {
                let sentence = self.incident.as_ref().map_or(format!("{KILLED}."), |known| known.sentence.clone());
                Verdict::Stop { incident: incident.clone(), reason: format!("{sentence} Start a new one to continue.") }
            }
            SessionState::Active | SessionState::Ended { .. } | SessionState::Archived { .. } => Verdict::Go,
        }
    }

    fn is_held_by_person(&self) -> bool {
        self.incident.as_ref().is_some_and(|incident| incident.finding.is_none())
    }

    /// Why the session is held, without the words for "paused".
    fn incident_reason(&self) -> &str {
        let sentence = self.incident.as_ref().map_or("", |incident| incident.sentence.as_str());
        sentence.strip_prefix(PAUSED).map_or(sentence, |note| note.trim_start_matches([':', '.', ' ']))
    }

    /// The latest call that repeated what a nudge or a pause was about. A call in between that looks like progress does
    /// not end the loop if the repetition continues after it.
    pub fn last_repetition(&self) -> Option<u64> {
        self.findings.last_repetition()
    }

    /// Total tokens so far.
    pub fn tokens(&self) -> u64 {
        Usage::total(&self.spent.usage)
    }

    pub(crate) fn window(&self) -> &CallWindow {
        &self.window
    }

    pub(crate) fn dialogue(&self) -> &Dialogue {
        &self.dialogue
    }

    pub(crate) fn complaints(&self) -> &Complaints {
        &self.complaints
    }

    pub(crate) fn request_history(&self) -> &RequestHistory {
        &self.request_history
    }

    pub(crate) fn file_history(&self) -> &FileHistory {
        &self.file_history
    }

    pub fn meter(&self) -> &SpendMeter {
        &self.meter
    }

    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    pub(crate) fn calls_since_progress(&self) -> u64 {
        self.calls_since_progress
    }

    pub(crate) fn findings(&self) -> &FindingTracker {
        &self.findings
    }

    pub(crate) fn findings_mut(&mut self) -> &mut FindingTracker {
        &mut self.findings
    }

    fn record_verdict(&mut self, identity: Digest, verdict: Verdict) {
        const MAX_VERDICTS: usize = 4;
        if self.verdicts.len() == MAX_VERDICTS {
            self.verdicts.remove(0);
        }
        self.verdicts.push((identity, verdict));
    }
}
