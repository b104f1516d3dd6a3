//! One agent conversation: its state, counters, progress clock and the window detectors look at.
//!
//! [`Session::apply`] is the only way a session changes. It is deterministic: the same events in the
//! same order under the same [`Rules`] give the same session and the same effects. It is idempotent:
//! an event seen before changes nothing. And it is bounded: whatever happens in a session, its
//! serialised form stays below [`MAX_SESSION_BYTES`], and an event costs the same at call 10 and at
//! call 100,000.

mod apply;
mod asks;
mod call;
mod contents;
mod evidence;
mod identities;
mod meter;
mod observed;
mod operator;
mod pace;
mod recent;
mod seen;
mod sensors;
mod spending;
mod state;
mod talk;
mod timers;
mod window;

pub use asks::Asks;
pub use call::{Answer, Call, Mark, Traits};
pub use contents::Contents;
pub use identities::{Identities, REMEMBERED};
pub use meter::Meter;
pub use operator::MAX_COOLDOWN;
pub use pace::Pace;
pub use seen::Seen;
use sensors::Sensors;
pub use state::{Gate, State};
pub use talk::Talk;
pub use window::{WINDOW, Window};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::effect::{Incident, Spent, Verdict};
use crate::event::{SharedSpent, Usage};
use crate::key::SessionKey;
use crate::policy::Tracks;
use crate::time::Time;

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
    pub state: State,
    /// What we know about it.
    pub facts: Facts,
    /// How much has happened.
    pub counters: Counters,
    /// What it has cost.
    pub spent: Spent,
    /// What its sub-agents have cost, theirs included.
    pub beneath: Spent,
    /// What it has cost since it last moved.
    pub clock: ProgressClock,
    /// Limits a person set for this session; they win over the rules.
    pub budget: Budget,
    /// The open incident, if any.
    pub incident: Option<Incident>,
    /// Declared wait, if any.
    pub waiting: Option<Wait>,
    /// Events seen lately.
    identities: Identities,
    /// Verdicts given lately, so that the same question asked twice gets the same answer.
    answers: Vec<(Digest, Verdict)>,
    /// Plans named so far: a changed plan differs from all of them.
    plans: Vec<Digest>,
    /// The last calls.
    window: Window,
    /// What was come across before.
    seen: Seen,
    /// What was done about findings.
    tracks: Tracks,
    /// What was said between calls.
    talk: Talk,
    /// Model requests, for sensors that see no tools.
    asks: Asks,
    /// Contents of files.
    contents: Contents,
    /// Tokens and money by time.
    meter: Meter,
    /// What goes on right now.
    pace: Pace,
    /// A declared wait ended just now.
    waited: bool,
    /// Calls since progress, polls and plans aside.
    busy_calls: u64,
    /// The budgets that apply, see [`spending`].
    limits: [u64; spending::LIMITS],
    /// What all sessions of the project and of the account have cost on a day, as last told.
    shared: SharedSpent,
    /// Who pays, as far as the proxy saw.
    pub account: Option<Digest>,
    /// Who speaks for this session.
    #[serde(default)]
    sensors: Sensors,
}

/// What is known about a session besides its events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Facts {
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
    pub started_at: Time,
    /// Newest event.
    pub last_at: Time,
    /// When the agent said it ended, if it did and has not come back.
    pub ended_at: Option<Time>,
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
    pub at: Time,
    /// Everything spent since then.
    pub since: Spent,
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
pub struct Wait {
    /// Since when.
    pub since: Time,
    /// Until when at the latest.
    pub until: Option<Time>,
    /// For what.
    pub what: String,
}

impl Session {
    pub fn new(key: SessionKey) -> Self {
        Self {
            key,
            parent: None,
            state: State::Active,
            facts: Facts::default(),
            counters: Counters::default(),
            spent: Spent::default(),
            beneath: Spent::default(),
            clock: ProgressClock::default(),
            budget: Budget::default(),
            incident: None,
            waiting: None,
            identities: Identities::default(),
            answers: Vec::new(),
            plans: Vec::new(),
            window: Window::default(),
            seen: Seen::default(),
            tracks: Tracks::default(),
            talk: Talk::default(),
            asks: Asks::default(),
            contents: Contents::default(),
            meter: Meter::default(),
            pace: Pace::default(),
            waited: false,
            busy_calls: 0,
            limits: [0; spending::LIMITS],
            shared: SharedSpent::default(),
            account: None,
            sensors: Sensors::default(),
        }
    }

    /// Whether an event with this identity was applied lately. The store's table of them guards the rest.
    pub fn has_seen(&self, identity: Digest) -> bool {
        self.identities.contains(identity)
    }

    /// The answer given to an event seen before: a question asked twice is answered alike.
    pub fn answer_again(&self, identity: Digest) -> Verdict {
        match self.answers.iter().rev().find(|(asked, _)| *asked == identity) {
            Some((_, verdict)) => verdict.clone(),
            None => self.standing(),
        }
    }

    /// What the state alone says to anything the agent asks.
    pub fn standing(&self) -> Verdict {
        let reason = |what: &str| match &self.incident {
            Some(incident) => format!("{} {what}", incident.sentence),
            None => what.to_owned(),
        };
        match self.state.holding() {
            State::Paused { incident, until, gate, .. } => Verdict::Hold {
                incident: incident.clone(),
                reason: reason(&match (until, gate) {
                    (Some(until), _) => format!("Belay holds this session until {until}."),
                    (None, Gate::Plan) => "Belay holds this session until a changed plan is named: \
                         start the next prompt with \"plan:\", or run `belay resume --plan TEXT`."
                        .to_owned(),
                    (None, Gate::Person) => {
                        format!("Belay paused this session; a person can lift it with `belay resume {}`.", self.key)
                    }
                }),
                until: *until,
                plan_required: *gate == Gate::Plan,
            },
            State::Killed { incident, .. } => Verdict::Stop {
                incident: incident.clone(),
                reason: reason("A person stopped this session for good. Start a new one to go on."),
            },
            State::Active | State::Ended { .. } | State::Archived { .. } => Verdict::Go,
        }
    }

    /// Tokens of all kinds so far.
    pub fn tokens(&self) -> u64 {
        Usage::total(&self.spent.usage)
    }

    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    pub(crate) fn talk(&self) -> &Talk {
        &self.talk
    }

    pub(crate) fn asks(&self) -> &Asks {
        &self.asks
    }

    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    pub(crate) fn busy_calls(&self) -> u64 {
        self.busy_calls
    }

    pub(crate) fn tracks(&self) -> &Tracks {
        &self.tracks
    }

    pub(crate) fn tracks_mut(&mut self) -> &mut Tracks {
        &mut self.tracks
    }

    fn remember_answer(&mut self, identity: Digest, verdict: Verdict) {
        const KEPT: usize = 4;
        if self.answers.len() == KEPT {
            self.answers.remove(0);
        }
        self.answers.push((identity, verdict));
    }
}
