//! Sessions whose turn is open, and their files.
//!
//! An agent fires no hook if a person interrupts its turn or rejects a permission in the terminal. Its file tells, so the
//! resident process reads the files of open turns every second.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use belay_agents::hook::{HookPoint, HookProtocol, ParsedHook};
use belay_core::SessionKey;

/// How often a file is read after the end of the turn: Copilot CLI writes the last response after it has reported the end.
const POLLS_AFTER_END: u8 = 3;

/// Maximum number of open turns that are followed.
const MAX_OPEN_TURNS: usize = 128;

#[derive(Debug, Default)]
pub(super) struct OpenTurns(Mutex<HashMap<SessionKey, OpenTurn>>);

#[derive(Debug)]
struct OpenTurn {
    agent: String,
    file: String,
    /// How often the file is still read, after the end of the turn.
    polls_left: Option<u8>,
}

impl OpenTurns {
    /// Follows the session from its first prompt or call until a hook reports the end of the turn.
    pub(super) fn track(&self, protocol: &dyn HookProtocol, parsed: &ParsedHook) {
        let (Some(session), Some(file)) = (&parsed.session, &parsed.transcript) else { return };
        match parsed.point {
            HookPoint::SessionEnd => self.close(parsed),
            HookPoint::TurnEnd => {
                if let Some(turn) = self.lock().get_mut(session) {
                    turn.polls_left = Some(POLLS_AFTER_END);
                }
            }
            HookPoint::Prompt
            | HookPoint::BeforeTool
            | HookPoint::Permission
            | HookPoint::AfterTool
            | HookPoint::Informational => {
                if protocol.transcript().is_none() {
                    return;
                }
                let mut turns = self.lock();
                if turns.len() < MAX_OPEN_TURNS || turns.contains_key(session) {
                    let agent = session.agent.to_string();
                    turns.insert(session.clone(), OpenTurn { agent, file: file.clone(), polls_left: None });
                }
            }
            _ => {}
        }
    }

    pub(super) fn close(&self, parsed: &ParsedHook) {
        if let Some(session) = &parsed.session {
            self.lock().remove(session);
        }
    }

    /// All open turns, each as a hook call without events.
    pub(super) fn list(&self) -> Vec<(&'static dyn HookProtocol, ParsedHook)> {
        let mut turns = self.lock();
        turns.retain(|_, turn| match &mut turn.polls_left {
            None => true,
            Some(left) => left.checked_sub(1).inspect(|rest| *left = *rest).is_some(),
        });
        let turn = |(session, turn): (&SessionKey, &OpenTurn)| {
            let protocol = belay_agents::hook::protocol(&turn.agent, &[])?;
            let (session, transcript) = (Some(session.clone()), Some(turn.file.clone()));
            Some((protocol, ParsedHook { session, transcript, ..ParsedHook::default() }))
        };
        turns.iter().filter_map(turn).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionKey, OpenTurn>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
