//! One agent conversation: its state, counters, progress clock and the window detectors look at.
//!
//! [`Session::apply`] is the only way a session changes. It is deterministic: the same events in the
//! same order under the same [`Rules`](crate::Rules) give the same session and the same effects. It is idempotent:
//! an event seen before changes nothing. And it is bounded: whatever happens in a session, its
//! serialised form stays below [`MAX_SESSION_BYTES`], and an event costs the same at call 10 and at
//! call 100,000.

mod activity;
mod apply;
mod call;
mod call_window;
mod dialogue;
mod evidence;
mod external_facts;
mod file_history;
mod identities;
mod operator;
mod request_history;
mod seen_set;
mod sensor_dedup;
mod spend_meter;
mod spending;
mod state;
mod timers;

pub use activity::Activity;
pub use call::{Call, CallFlags, CallResult, ShortDigest};
pub use call_window::{CALL_WINDOW, CallWindow};
pub use dialogue::Dialogue;
pub use file_history::FileHistory;
pub use identities::{MAX_RECENT, RecentIdentities};
pub use operator::MAX_COOLDOWN;
pub use request_history::RequestHistory;
pub use seen_set::SeenSet;
use sensor_dedup::SensorDedup;
pub use spend_meter::SpendMeter;
pub use state::{ResumeCondition, SessionState};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::effect::{Incident, Spend, Verdict};
use crate::event::{SharedSpend, Usage};
use crate::key::SessionKey;
use crate::policy::FindingTracker;
use crate::time::Timestamp;

/// Upper bound of a serialised session.
pub const MAX_SESSION_BYTES: usize = 64 * 1024;

/// Version of the serialised form. A snapshot of another version is ignored and the session is
/// rebuilt from its log.
pub const SESSION_FORMAT: u16 = 2;

/// One agent conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Which conversation.
    pub key: SessionKey,
    /// For a sub-agent: who started it.
    pub parent: Option<SessionKey>,
    /// May it go on?
    pub state: SessionState,
    /// What we know about it.
    pub facts: SessionFacts,
    /// How much has happened.
    pub counters: Counters,
    /// What it has cost.
    pub spent: Spend,
    /// What its sub-agents have cost, theirs included.
    pub beneath: Spend,
    /// What it has cost since it last moved.
    pub clock: ProgressClock,
    /// Limits a person set for this session; they win over the rules.
    pub budget: Budget,
    /// The open incident, if any.
    pub incident: Option<Incident>,
    /// Declared wait, if any.
    pub waiting: Option<DeclaredWait>,
    /// Events seen lately.
    identities: RecentIdentities,
    /// Verdicts given lately, so that the same question asked twice gets the same answer.
    answers: Vec<(Digest, Verdict)>,
    /// Plans named so far: a changed plan differs from all of them.
    plans: Vec<Digest>,
    /// The last calls.
    window: CallWindow,
    /// What was come across before.
    seen: SeenSet,
    /// What was done about findings.
    tracks: FindingTracker,
    /// What was said between calls.
    talk: Dialogue,
    /// Model requests, for sensors that see no tools.
    asks: RequestHistory,
    /// Contents of files.
    contents: FileHistory,
    /// Tokens and money by time.
    meter: SpendMeter,
    /// What goes on right now.
    pace: Activity,
    /// A declared wait ended just now.
    waited: bool,
    /// Calls since progress, polls and plans aside.
    busy_calls: u64,
    /// The budgets that apply, see [`spending`].
    limits: [u64; spending::LIMIT_COUNT],
    /// What all sessions of the project and of the account have cost on a day, as last told.
    shared: SharedSpend,
    /// Who pays, as far as the proxy saw.
    pub account: Option<Digest>,
    /// Who speaks for this session.
    #[serde(default)]
    sensors: SensorDedup,
}

/// What is known about a session besides its events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SessionFacts {
    /// Repository or folder the work belongs to.
    pub project: Option<String>,
    /// Current folder of the agent.
    pub cwd: Option<String>,
    /// Model used last.
    pub model: Option<String>,
    /// Branch.
    pub branch: Option<String>,
    /// Task name.
    pub task: Option<String>,
    /// The agent's session file.
    pub transcript: Option<String>,
    /// Agent version.
    pub agent_version: Option<String>,
    /// Agent process.
    pub pid: Option<u32>,
    /// First event.
    pub started_at: Timestamp,
    /// Newest event.
    pub last_at: Timestamp,
    /// When the agent said it ended, if it did and has not come back.
    pub ended_at: Option<Timestamp>,
}

/// How much has happened.
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
    /// Model answers.
    pub answers: u64,
    /// File changes.
    pub edits: u64,
    /// Test, build and lint runs that failed.
    pub failed_checks: u64,
    /// Test, build and lint runs that passed.
    pub passed_checks: u64,
    /// Findings of any rung.
    pub findings: u64,
    /// Nudges given.
    pub nudges: u64,
    /// Pauses by the detector.
    pub pauses: u64,
    /// Sub-agents started.
    pub sub_agents: u64,
    /// Compactions.
    pub compactions: u64,
}

/// What the session has cost since there was last evidence that it moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProgressClock {
    /// When it last moved.
    pub at: Timestamp,
    /// Everything spent since then.
    pub since: Spend,
}

/// Limits in tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Budget {
    /// Tokens, all kinds together.
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub cost_micros: Option<u64>,
}

/// A declared wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeclaredWait {
    /// Since when.
    pub since: Timestamp,
    /// Until when at the latest.
    pub until: Option<Timestamp>,
    /// For what.
    pub what: String,
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
            incident: None,
            waiting: None,
            identities: RecentIdentities::default(),
            answers: Vec::new(),
            plans: Vec::new(),
            window: CallWindow::default(),
            seen: SeenSet::default(),
            tracks: FindingTracker::default(),
            talk: Dialogue::default(),
            asks: RequestHistory::default(),
            contents: FileHistory::default(),
            meter: SpendMeter::default(),
            pace: Activity::default(),
            waited: false,
            busy_calls: 0,
            limits: [0; spending::LIMIT_COUNT],
            shared: SharedSpend::default(),
            account: None,
            sensors: SensorDedup::default(),
        }
    }

    /// Whether an event with this identity was applied lately. The store's table of them guards the rest.
    pub fn is_duplicate(&self, identity: Digest) -> bool {
        self.identities.contains(identity)
    }

    /// The answer given to an event seen before: a question asked twice is answered alike.
    pub fn repeat_verdict(&self, identity: Digest) -> Verdict {
        match self.answers.iter().rev().find(|(asked, _)| *asked == identity) {
            Some((_, verdict)) => verdict.clone(),
            None => self.hold_verdict(),
        }
    }

    /// What the state alone says to anything the agent asks.
    pub fn hold_verdict(&self) -> Verdict {
        let reason = |what: &str| match &self.incident {
            Some(incident) => format!("{} {what}", incident.sentence),
            None => what.to_owned(),
        };
        match self.state.effective() {
            SessionState::Paused { incident, until, gate, .. } => Verdict::Hold {
                incident: incident.clone(),
                reason: reason(&match (until, gate) {
                    (Some(until), _) => format!("Belay holds this session until {until}."),
                    (None, ResumeCondition::Plan) => "Belay holds this session until a changed plan is named: \
                         start the next prompt with \"plan:\", or run `belay resume --plan TEXT`."
                        .to_owned(),
                    (None, ResumeCondition::Operator) => {
                        format!("Belay paused this session; a person can lift it with `belay resume {}`.", self.key)
                    }
                }),
                until: *until,
                plan_required: *gate == ResumeCondition::Plan,
            },
            SessionState::Killed { incident, .. } => Verdict::Stop {
                incident: incident.clone(),
                reason: reason("A person stopped this session for good. Start a new one to go on."),
            },
            SessionState::Active | SessionState::Ended { .. } | SessionState::Archived { .. } => Verdict::Go,
        }
    }

    /// Tokens of all kinds so far.
    pub fn tokens(&self) -> u64 {
        Usage::total(&self.spent.usage)
    }

    pub(crate) fn window(&self) -> &CallWindow {
        &self.window
    }

    pub(crate) fn dialogue(&self) -> &Dialogue {
        &self.talk
    }

    pub(crate) fn request_history(&self) -> &RequestHistory {
        &self.asks
    }

    pub(crate) fn file_history(&self) -> &FileHistory {
        &self.contents
    }

    pub(crate) fn meter(&self) -> &SpendMeter {
        &self.meter
    }

    pub(crate) fn activity(&self) -> &Activity {
        &self.pace
    }

    pub(crate) fn running_calls(&self) -> u64 {
        self.busy_calls
    }

    pub(crate) fn findings(&self) -> &FindingTracker {
        &self.tracks
    }

    pub(crate) fn findings_mut(&mut self) -> &mut FindingTracker {
        &mut self.tracks
    }

    fn remember_answer(&mut self, identity: Digest, verdict: Verdict) {
        const MAX_PLANS: usize = 4;
        if self.answers.len() == MAX_PLANS {
            self.answers.remove(0);
        }
        self.answers.push((identity, verdict));
    }
}
