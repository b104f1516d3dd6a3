//! Tracks the position in the script, one per conversation.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::answer::Ids;
use crate::script::{Script, Turn};

#[derive(Debug)]
pub(crate) struct Player {
    script: Script,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Keyed by branch and header value; `None` is the main conversation.
    conversations: HashMap<Option<(usize, String)>, PlaybackPosition>,
    asides: u64,
}

#[derive(Clone, Copy, Debug)]
struct PlaybackPosition {
    conversation: u64,
    next: usize,
}

/// The turn to play next.
#[derive(Debug)]
pub(crate) struct ScheduledTurn {
    pub(crate) turn: Turn,
    /// Its number within the conversation, counting repeats.
    pub(crate) index: usize,
    pub(crate) ids: Ids,
}

/// Separates ids of auxiliary responses from those of turns.
const AUXILIARY_SEED: u64 = u64::MAX;

impl Player {
    pub(crate) fn new(script: Script) -> Self {
        Self { script, state: Mutex::default() }
    }

    pub(crate) fn script(&self) -> &Script {
        &self.script
    }

    pub(crate) fn next_turn<'a>(&self, header: impl Fn(&str) -> Option<&'a str>) -> ScheduledTurn {
        let branches = self.script.branches.iter().enumerate();
        let branch = branches.into_iter().find_map(|(at, branch)| Some((at, header(&branch.header)?.to_owned())));
        let turns = branch.as_ref().map_or(&self.script.turns, |(at, _)| &self.script.branches[*at].turns);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // The main conversation has number 0 even if a branch is first.
        let branched = state.conversations.keys().flatten().count() as u64;
        let conversation = if branch.is_some() { branched + 1 } else { 0 };
        let place = state.conversations.entry(branch).or_insert(PlaybackPosition { conversation, next: 0 });
        let index = place.next;
        place.next += 1;
        let turn = nth(turns, index).unwrap_or(&self.script.otherwise).clone();
        ScheduledTurn { turn, index, ids: Ids::new(self.script.seed, place.conversation, index as u64) }
    }

    pub(crate) fn aside_ids(&self) -> Ids {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.asides += 1;
        Ids::new(self.script.seed, AUXILIARY_SEED, state.asides)
    }

    /// Ends the repetition of the turn of the main conversation that was played last.
    pub(crate) fn end_repetition(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = state.conversations.get_mut(&None) else { return };
        let ends = self.script.turns.iter().scan(0, |end, turn| {
            *end += turn.repeat;
            Some(*end)
        });
        place.next = ends.into_iter().find(|end| *end >= place.next).unwrap_or(place.next);
    }

    /// Turns of the main conversation not played yet.
    pub(crate) fn remaining(&self) -> usize {
        let total: usize = self.script.turns.iter().map(|turn| turn.repeat).sum();
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        total.saturating_sub(state.conversations.get(&None).map_or(0, |place| place.next))
    }
}

fn nth(turns: &[Turn], index: usize) -> Option<&Turn> {
    let mut before = index;
    for turn in turns {
        match before.checked_sub(turn.repeat) {
            None => return Some(turn),
            Some(rest) => before = rest,
        }
    }
    None
}
