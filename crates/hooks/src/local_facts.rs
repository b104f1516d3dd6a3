//! Facts only this machine knows: what a file holds after an edit, what the agent's own session file
//! has to say, which project and process a session belongs to.
//!
//! All of it is bounded and none of it is necessary: what cannot be read is left out.

mod file_snapshots;
pub mod process;
mod project;
mod transcript_tail;

use belay_agents::UserDirs;
use belay_agents::hook::{HookInput, HookPoint, HookProtocol, ParsedHook};
use belay_core::event::{Body, Event, LateFact, StartKind};
use belay_core::{SessionKey, Source};
use belay_ipc::HookRequest;

pub use project::project_root;

/// What is remembered about files and session files between two hook calls.
#[derive(Debug)]
pub struct LocalFacts {
    dirs: Option<UserDirs>,
    files: file_snapshots::FileSnapshots,
    tails: transcript_tail::TranscriptTails,
}

impl Default for LocalFacts {
    fn default() -> Self {
        Self {
            dirs: UserDirs::for_current_user(),
            files: file_snapshots::FileSnapshots::default(),
            tails: transcript_tail::TranscriptTails::default(),
        }
    }
}

impl LocalFacts {
    /// Has the payload understood, and completes it by what can be found out here.
    pub fn parse_and_enrich(&self, dialect: &dyn HookProtocol, told: &HookInput<'_>, ask: &HookRequest) -> ParsedHook {
        let mut heard = dialect.hear(told);
        let Some(session) = heard.session.clone() else { return heard };
        if heard.cwd.is_none() {
            heard.cwd.clone_from(&ask.cwd);
        }
        if heard.transcript.is_none() {
            heard.transcript = self.dirs.as_ref().and_then(|dirs| session_file(dialect, dirs, &session));
        }
        match heard.moment {
            HookPoint::SessionStart => self.begin(&mut heard, ask),
            HookPoint::BeforeTool => self.files.snapshot(&heard),
            HookPoint::AfterTool | HookPoint::AfterBatch | HookPoint::TurnEnd | HookPoint::SessionEnd => {
                let file = self.tails.read(dialect, &heard);
                let mut late = Vec::new();
                for (call, code) in file.exit_codes {
                    if answers(&heard, &call) {
                        let cwd = heard.cwd.take();
                        heard = ParsedHook { cwd, ..dialect.hear(&HookInput { exit_code: Some(code), ..*told }) };
                    } else {
                        late.push(Body::Learned(LateFact {
                            call: Some(call),
                            exit_code: Some(code),
                            ..LateFact::default()
                        }));
                    }
                }
                let changes = self.files.take_changes(&heard).into_iter().map(Body::FileChanged);
                let told = std::mem::replace(&mut heard.events, file.events);
                heard.events.extend(late.into_iter().enumerate().map(|(n, body)| event(ask, 'l', n, &session, body)));
                heard.events.extend(told);
                heard.events.extend(changes.enumerate().map(|(n, body)| event(ask, 'f', n, &session, body)));
            }
            _ => {}
        }
        for event in &mut heard.events {
            if event.cwd.is_none() {
                event.cwd.clone_from(&heard.cwd);
            }
        }
        heard
    }

    fn begin(&self, heard: &mut ParsedHook, ask: &HookRequest) {
        let mut new = false;
        for event in &mut heard.events {
            if let Body::SessionStarted(start) = &mut event.body {
                start.transcript = start.transcript.take().or_else(|| heard.transcript.clone());
                project::fill_session_start(start, heard.cwd.as_deref(), ask.pid);
                new = start.how == StartKind::New;
            }
        }
        self.tails.begin(heard, new);
    }
}

fn session_file(dialect: &dyn HookProtocol, dirs: &UserDirs, session: &SessionKey) -> Option<String> {
    let file = dialect.session_file(dirs, session)?;
    file.to_str().map(str::to_owned)
}

/// Whether the hook tells of this call's answer and leaves out how it ended.
fn answers(heard: &ParsedHook, call: &str) -> bool {
    heard.events.iter().any(|event| match &event.body {
        Body::ToolReturned(returned) => returned.call.as_deref() == Some(call) && returned.exit_code.is_none(),
        _ => false,
    })
}

fn event(ask: &HookRequest, kind: char, number: usize, session: &SessionKey, body: Body) -> Event {
    Event::new(format!("{}.{kind}{number}", ask.id), session.clone(), Source::Hook, ask.at, body)
}
