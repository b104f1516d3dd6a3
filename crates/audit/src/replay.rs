//! Replays one group of files: applies events to sessions and steps to loops.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belay_agents::transcript::ReadError;
use belay_agents::{ReadStats, Sink};
use belay_core::event::{Body, ModelAnswered};
use belay_core::{Digest, Effect, Event, InterventionLevel, Rules, Session, SessionKey};
use jiff::tz::TimeZone;

use crate::discover::SessionFile;
use crate::ledger::Ledger;
use crate::loop_tracker::{LoopTracker, PlannedIntervention, SpendPosition};
use crate::run::{Progress, RuleSet};
use crate::session_report::{SessionReport, VariantResult};

/// Maximum number of open sessions per file; beyond that, the least recently active one is suspended.
const MAX_OPEN_SESSIONS: usize = 32;

/// Options of a replay.
#[derive(Debug)]
pub struct ReplayOptions<'a> {
    /// One set of rules, or two to compare.
    pub variants: &'a [RuleSet],
    /// The time zone in which days begin.
    pub zone: TimeZone,
    /// Whether notices are kept or only counted.
    pub keep_notices: bool,
}

/// The result of one file.
#[derive(Debug)]
pub struct FileReport {
    pub path: PathBuf,
    /// Lines read and damaged.
    pub result: Result<ReadStats, ReadError>,
    /// Everything in it is also in an earlier file, so it does not count.
    pub is_copy: bool,
}

/// Replays a group. Returns its sessions in the order in which they started, and the result of each file.
pub fn replay(
    family: &[SessionFile],
    settings: &ReplayOptions<'_>,
    progress: &Progress,
) -> (Vec<SessionReport>, Vec<FileReport>) {
    let mut replay = Replay {
        settings,
        progress,
        live: Vec::new(),
        done: Vec::new(),
        told: (family.len() > 1).then(HashSet::new),
        new: Vec::new(),
        skipped: 0,
        copied: None,
        file: PathBuf::new(),
    };
    let mut files = Vec::new();
    for source in family {
        replay.file.clone_from(&source.path);
        let result = source.format.read(&source.path, &mut replay);
        let is_copy = replay.skipped > 0 && replay.new.is_empty();
        replay.end_file();
        files.push(FileReport { path: source.path.clone(), result, is_copy });
    }
    // A session may continue in the next file, so it ends with the group.
    for live in replay.live.drain(..) {
        settle(&mut replay.done, live.report());
    }
    let mut sessions = replay.done;
    // A session that consists only of copied records does not count.
    sessions.retain(|report| report.counters.calls + report.counters.answers + report.counters.human_turns > 0);
    sessions.sort_by(|a, b| (a.started_at, &a.key).cmp(&(b.started_at, &b.key)));
    name_by_file(&mut sessions);
    (sessions, files)
}

/// A file with one conversation names it; if there are several, each has its own name.
fn name_by_file(sessions: &mut [SessionReport]) {
    let of = |report: &SessionReport| report.files.first().cloned().unwrap_or_default();
    let roots = |file: &Path, all: &[SessionReport]| {
        all.iter().filter(|report| report.parent.is_none() && of(report) == file).count()
    };
    let owns: Vec<bool> = sessions
        .iter()
        .map(|report| {
            let file = of(report);
            let others = sessions.iter().filter(|other| of(other) == file).count();
            match report.parent {
                None => roots(&file, sessions) == 1,
                Some(_) => others == 1,
            }
        })
        .collect();
    for (report, own) in sessions.iter_mut().zip(owns) {
        report.own_file = own;
    }
}

struct Replay<'a> {
    settings: &'a ReplayOptions<'a>,
    progress: &'a Progress,
    live: Vec<ReplayedSession>,
    done: Vec<SessionReport>,
    /// Identities in earlier files of the group; `None` if there are no other files.
    told: Option<HashSet<u64>>,
    /// Identities in this file.
    new: Vec<u64>,
    /// Number of facts of this file that an earlier file contains.
    skipped: u64,
    /// The session whose last fact in this file is also in an earlier file.
    copied: Option<SessionKey>,
    file: PathBuf,
}

impl Replay<'_> {
    fn end_file(&mut self) {
        let new = std::mem::take(&mut self.new);
        self.skipped = 0;
        self.copied = None;
        if let Some(told) = &mut self.told {
            told.extend(new);
        }
    }

    fn session(&mut self, event: &Event) -> &mut ReplayedSession {
        // The session of the last event is last, and events rarely change sessions.
        let at = self.live.iter().rposition(|live| live.key == event.session);
        let live = match at {
            Some(at) => self.live.remove(at),
            None => {
                if self.live.len() == MAX_OPEN_SESSIONS {
                    let rested = self.live.remove(0);
                    settle(&mut self.done, rested.report());
                }
                ReplayedSession::new(event, &self.file, self.settings)
            }
        };
        self.live.push(live);
        let last = self.live.len() - 1;
        let live = &mut self.live[last];
        if live.files.last() != Some(&self.file) && !live.files.contains(&self.file) {
            live.files.push(self.file.clone());
        }
        live
    }
}

impl Sink for Replay<'_> {
    fn event(&mut self, event: Event) {
        if let Some(told) = &self.told {
            match fact(&event) {
                Some(fact) if told.contains(&fact) => {
                    self.skipped += 1;
                    self.copied = Some(event.session);
                    return;
                }
                Some(fact) => {
                    self.new.push(fact);
                    self.copied = None;
                }
                // What has no identity of its own, such as the end of a turn, belongs to the fact before it.
                None if self.copied.as_ref() == Some(&event.session) => return,
                None => {}
            }
        }
        self.session(&event).apply(&event);
    }

    fn progress(&mut self, bytes: u64) {
        self.progress.read(bytes);
    }
}

fn settle(done: &mut Vec<SessionReport>, report: SessionReport) {
    match done.iter_mut().find(|known| known.key == report.key) {
        Some(known) => known.merge(report),
        None => done.push(report),
    }
}

/// The identity by which an event is recognised as a copy, if it has one.
fn fact(event: &Event) -> Option<u64> {
    let native = match &event.body {
        Body::ToolCalled(call) => call.call.is_some(),
        Body::ToolReturned(result) => result.call.is_some(),
        Body::ModelAnswered(answer) => answer.response.is_some(),
        Body::Learned(_) => true,
        Body::Prompt(prompt) if event.at.is_known() => {
            return Some(Digest::from_bytes(format!("prompt:{}:{}", event.at.millis(), prompt.text)).0);
        }
        _ => false,
    };
    native.then(|| event.identity_digest().0)
}

/// No tokenizer needs fewer tokens than one for so many bytes of prose or code.
const MAX_BYTES_PER_TOKEN: u64 = 16;

/// Whether a response reports fewer output tokens than its text has. Some agents record the number at the start of a
/// stream and never the final one.
fn is_under_reported(answer: &ModelAnswered) -> bool {
    let bytes = answer.said.map_or(answer.text.as_str().len() as u64, |said| u64::from(said.len));
    answer.usage.is_some_and(|usage| usage.output.saturating_mul(MAX_BYTES_PER_TOKEN) < bytes)
}

/// A session during its replay.
struct ReplayedSession {
    key: SessionKey,
    /// Its files so far, in the order of time.
    files: Vec<PathBuf>,
    ledger: Ledger,
    /// Responses that report fewer output tokens than their text has.
    under_reported: u64,
    minds: Vec<VariantRun>,
    keep_notices: bool,
}

/// The same rules without their effects.
fn dry_run(rules: &Rules) -> Arc<Rules> {
    let mut rules = rules.clone();
    rules.dry_run = true;
    Arc::new(rules)
}

/// The session's state under one set of rules.
struct VariantRun {
    session: Session,
    rules: Arc<Rules>,
    tracker: LoopTracker,
    judged: VariantResult,
}

impl ReplayedSession {
    fn new(event: &Event, file: &Path, settings: &ReplayOptions<'_>) -> Self {
        let dir = event.cwd.as_deref().map(Path::new);
        let mind = |variant: &RuleSet| VariantRun {
            session: Session::new(event.session.clone()),
            // Nothing intervenes in the past. Otherwise the refusals after a pause would look like Belay's own.
            rules: dry_run(&(variant.rules)(dir)),
            tracker: LoopTracker::default(),
            judged: VariantResult::default(),
        };
        Self {
            key: event.session.clone(),
            files: vec![file.to_owned()],
            ledger: Ledger::new(settings.zone.clone()),
            under_reported: 0,
            minds: settings.variants.iter().map(mind).collect(),
            keep_notices: settings.keep_notices,
        }
    }

    fn apply(&mut self, event: &Event) {
        let before = self.minds[0].session.counters.events;
        let mut effects: Vec<Vec<Effect>> = Vec::with_capacity(self.minds.len());
        for mind in &mut self.minds {
            effects.push(mind.session.apply(event, &mind.rules));
        }
        if self.minds[0].session.counters.events != before {
            self.count(event);
        }
        for (mind, effects) in self.minds.iter_mut().zip(effects) {
            for effect in effects {
                mind.note(effect, self.keep_notices);
            }
            let session = &mind.session;
            let clock = SpendPosition { at: session.clock.at, calls: session.clock.since.calls };
            let newest = session.counters.calls.saturating_sub(1);
            mind.tracker.after(newest, clock, session.last_repetition(), &session.spent);
        }
    }

    fn count(&mut self, event: &Event) {
        let VariantRun { session, rules, .. } = &self.minds[0];
        if matches!(event.body, Body::ToolCalled(_)) {
            self.ledger.call(event.at);
        }
        if let Body::ModelAnswered(answer) = &event.body {
            self.under_reported += u64::from(is_under_reported(answer));
        }
        if let Some(charge) = session.charge(event, rules) {
            self.ledger.charge(event.at, &charge);
        }
    }

    fn report(self) -> SessionReport {
        let Self { key, files, ledger, under_reported, minds, keep_notices } = self;
        let mut judged = Vec::with_capacity(minds.len());
        let mut sessions = Vec::with_capacity(minds.len());
        for mut mind in minds {
            for effect in mind.session.settle_unanswered(&mind.rules) {
                mind.note(effect, keep_notices);
            }
            judged.push(VariantResult { loops: mind.tracker.loops, ..mind.judged });
            sessions.push(mind.session);
        }
        let session = sessions.swap_remove(0);
        SessionReport {
            own_file: false,
            parent: session.parent,
            files,
            project: session.facts.project.or(session.facts.cwd),
            started_at: session.facts.started_at,
            last_at: session.facts.last_at,
            counters: session.counters,
            spent: session.spent,
            models: ledger.models,
            days: ledger.days,
            under_reported,
            judged,
            key,
        }
    }
}

impl VariantRun {
    fn note(&mut self, effect: Effect, keep_notices: bool) {
        let Effect::Intervened(step) = effect else { return };
        if step.level == InterventionLevel::Notice {
            self.judged.noticed += 1;
            if keep_notices {
                self.judged.notices.push(PlannedIntervention { level: step.level, finding: step.finding });
            }
            return;
        }
        self.tracker.step(&step, &self.session.spent);
        self.judged.alarms.push(PlannedIntervention { level: step.level, finding: step.finding });
    }
}
