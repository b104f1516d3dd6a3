//! Facts from the local machine: file contents after an edit, records of the agent's session file, and the project and
//! process of a session.
//!
//! All reads are bounded and optional: what cannot be read is omitted.

pub(crate) mod agent_process;
mod file_snapshots;
mod open_turns;
mod project;
mod transcript_tail;

use belay_agents::UserDirs;
use belay_agents::hook::{HookInput, HookPoint, HookProtocol, ParsedHook};
use belay_core::event::{Body, Event, LateFact, StartKind};
use belay_core::{SessionKey, Source};
use belay_fs::Links;
use belay_ipc::HookRequest;

pub use project::project_root;
pub(crate) use project::work_tree_root;

/// State about files and session files between hook calls.
#[derive(Debug)]
pub struct LocalFacts {
    dirs: Option<UserDirs>,
    files: file_snapshots::FileSnapshots,
    tails: transcript_tail::TranscriptTails,
    open_turns: open_turns::OpenTurns,
}

impl Default for LocalFacts {
    fn default() -> Self {
        Self {
            dirs: UserDirs::for_current_user(),
            files: file_snapshots::FileSnapshots::default(),
            tails: transcript_tail::TranscriptTails::default(),
            open_turns: open_turns::OpenTurns::default(),
        }
    }
}

impl LocalFacts {
    /// Parses the payload and adds local facts.
    pub fn parse_and_enrich(&self, protocol: &dyn HookProtocol, told: &HookInput<'_>, ask: &HookRequest) -> ParsedHook {
        let mut parsed = protocol.parse_or_default(told);
        let Some(session) = parsed.session.clone() else { return parsed };
        if parsed.cwd.is_none() {
            parsed.cwd.clone_from(&ask.cwd);
        }
        if parsed.transcript.is_none() {
            parsed.transcript = self.dirs.as_ref().and_then(|dirs| session_file(protocol, dirs, &session));
        }
        self.open_turns.track(protocol, &parsed);
        match parsed.point {
            HookPoint::SessionStart => self.begin(&mut parsed, ask),
            // Budgets and holds depend on usage, so no hook waits for a later one to report it.
            _ => self.add_transcript_tail(protocol, told, ask, &session, &mut parsed),
        }
        match parsed.point {
            HookPoint::BeforeTool => self.files.snapshot(&parsed),
            HookPoint::AfterTool | HookPoint::AfterBatch | HookPoint::TurnEnd | HookPoint::SessionEnd => {
                let changes = self.files.take_changes(&parsed).into_iter().map(Body::FileChanged);
                parsed.events.extend(changes.enumerate().map(|(n, body)| event(ask, 'f', n, &session, body)));
            }
            _ => {}
        }
        for event in &mut parsed.events {
            if event.cwd.is_none() {
                event.cwd.clone_from(&parsed.cwd);
            }
        }
        parsed
    }

    /// What the files of sessions with an open turn report since the last call or hook.
    pub fn poll_open_turns(&self) -> Vec<Event> {
        let read = |(protocol, parsed): (&dyn HookProtocol, ParsedHook)| {
            let events = self.tails.read(protocol, &parsed, Links::Refuse).events;
            if events.iter().any(|event| matches!(event.body, Body::TurnEnded(_))) {
                self.open_turns.close(&parsed);
            }
            events
        };
        self.open_turns.list().into_iter().flat_map(read).collect()
    }

    /// Adds what the session file reports since the last hook, before the events of this one.
    fn add_transcript_tail(
        &self,
        protocol: &dyn HookProtocol,
        told: &HookInput<'_>,
        ask: &HookRequest,
        session: &SessionKey,
        parsed: &mut ParsedHook,
    ) {
        let file = self.tails.read(protocol, parsed, Links::Follow);
        let mut late = Vec::new();
        for (call, code) in file.exit_codes {
            if answers(parsed, &call) {
                let cwd = parsed.cwd.take();
                *parsed =
                    ParsedHook { cwd, ..protocol.parse_or_default(&HookInput { exit_code: Some(code), ..*told }) };
            } else {
                late.push(Body::Learned(LateFact { call: Some(call), exit_code: Some(code), ..LateFact::default() }));
            }
        }
        let reported = std::mem::replace(&mut parsed.events, file.events);
        parsed.events.extend(late.into_iter().enumerate().map(|(n, body)| event(ask, 'l', n, session, body)));
        parsed.events.extend(reported);
    }

    fn begin(&self, parsed: &mut ParsedHook, ask: &HookRequest) {
        let mut new = false;
        for event in &mut parsed.events {
            if let Body::SessionStarted(start) = &mut event.body {
                start.transcript = start.transcript.take().or_else(|| parsed.transcript.clone());
                project::fill_session_start(start, parsed.cwd.as_deref(), ask.pid);
                new = start.how == StartKind::New;
            }
        }
        self.tails.begin(parsed, new);
    }
}

fn session_file(protocol: &dyn HookProtocol, dirs: &UserDirs, session: &SessionKey) -> Option<String> {
    let file = protocol.session_file(dirs, session)?;
    file.to_str().map(str::to_owned)
}

/// Whether the hook reports the result of this call without an exit code.
fn answers(parsed: &ParsedHook, call: &str) -> bool {
    parsed.events.iter().any(|event| match &event.body {
        Body::ToolReturned(returned) => returned.call.as_deref() == Some(call) && returned.exit_code.is_none(),
        _ => false,
    })
}

fn event(ask: &HookRequest, kind: char, number: usize, session: &SessionKey, body: Body) -> Event {
    Event::new(format!("{}.{kind}{number}", ask.id), session.clone(), Source::Hook, ask.at, body)
}
