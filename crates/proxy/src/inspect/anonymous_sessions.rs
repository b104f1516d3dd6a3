//! Sessions of agents that send no session id. A conversation is identified by its start, and two runs with the same
//! prompt have the same start, so each run gets a number.
//!
//! Every request repeats the conversation, so the messages of a run's last request tell its next one from those of other
//! runs.

use std::collections::VecDeque;
use std::time::Duration;

use belay_core::{Digest, SessionKey, Timestamp};
use xxhash_rust::xxh3::xxh3_64;

/// The runs of each conversation start.
#[derive(Debug, Default)]
pub(crate) struct AnonymousSessions(VecDeque<(Digest, Runs)>);

/// The runs with the same start, the last used one first.
#[derive(Debug)]
struct Runs {
    live: VecDeque<Run>,
    /// The number of the next new run.
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    number: u32,
    /// A request had more than the start.
    has_grown: bool,
    /// Length and hash of the messages of its last request.
    messages: (usize, u64),
    last_at: Timestamp,
}

/// The position of a request in its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// The model has not responded yet.
    Start,
    Later,
    /// Auxiliary, such as a request for a title.
    Auxiliary,
}

/// A request of an agent that sends no session id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnonymousRequest<'b> {
    /// Digest of its start and of its account.
    pub(crate) start: Digest,
    pub(crate) position: Position,
    /// The text of its messages, without the brackets around them.
    pub(crate) messages: &'b [u8],
    pub(crate) at: Timestamp,
}

impl AnonymousSessions {
    const MAX_STARTS: usize = 256;
    const MAX_LIVE_RUNS: usize = 16;
    /// Maximum number of runs that are searched for a hold.
    const MAX_RUNS: u32 = 64;
    /// An agent that repeats its first request after an error or a hold does so within minutes. The same request after
    /// this long is a new run.
    const NEW_RUN_GAP: Duration = Duration::from_secs(30 * 60);

    /// The session of a request. A request at the start, after a longer one or a long gap, is a new run.
    ///
    /// `is_held` decides if the messages do not tell the run, because its history was changed or because this process is
    /// new: a new run must not inherit the hold of an earlier one, and a held run must not escape.
    pub(crate) fn resolve(
        &mut self,
        agent: &str,
        request: &AnonymousRequest<'_>,
        is_held: impl Fn(&SessionKey) -> bool,
    ) -> SessionKey {
        let start = request.start;
        let key = |number: u32| match number {
            1 => SessionKey::new(agent, format!("anon-{start}")),
            _ => SessionKey::new(agent, format!("anon-{start}-{number}")),
        };
        let is_held = |number: u32| is_held(&key(number));
        let known = self.0.iter().position(|(known, _)| *known == start).and_then(|at| self.0.remove(at));
        let mut runs = known.map_or_else(|| Runs::find(request.position, is_held), |(_, runs)| runs);
        let number = runs.resolve(request, is_held);
        self.0.truncate(Self::MAX_STARTS - 1);
        self.0.push_front((start, runs));
        key(number)
    }
}

impl Runs {
    /// The runs of a start that this process does not know.
    fn find(position: Position, is_held: impl Fn(u32) -> bool) -> Self {
        let last_held = (1..=AnonymousSessions::MAX_RUNS).rev().find(|number| is_held(*number));
        let next = match last_held {
            Some(held) if position == Position::Start => held + 1,
            Some(held) => held,
            None => 1,
        };
        Self { live: VecDeque::new(), next }
    }

    fn resolve(&mut self, request: &AnonymousRequest<'_>, is_held: impl Fn(u32) -> bool) -> u32 {
        let AnonymousRequest { position, messages, at, .. } = *request;
        let known = match position {
            Position::Start => {
                // A run that has not grown could not be told from the new one.
                let is_recent = |run: &Run| at.saturating_since(run.last_at) < AnonymousSessions::NEW_RUN_GAP;
                self.live.retain(|run| run.has_grown || is_recent(run));
                self.live.iter().position(|run| !run.has_grown)
            }
            Position::Later => self.continued(messages, &is_held),
            Position::Auxiliary => (!self.live.is_empty()).then_some(0),
        };
        let known = known.and_then(|index| self.live.remove(index));
        let mut run = known.unwrap_or_else(|| {
            let number = self.next;
            self.next += 1;
            Run { number, has_grown: false, messages: (0, xxh3_64(b"")), last_at: at }
        });
        if position != Position::Auxiliary {
            run.messages = (messages.len(), xxh3_64(messages));
            run.last_at = at;
        }
        run.has_grown |= position == Position::Later;
        if self.live.len() == AnonymousSessions::MAX_LIVE_RUNS {
            let oldest_free = self.live.iter().rposition(|run| !is_held(run.number));
            self.live.remove(oldest_free.unwrap_or(self.live.len() - 1));
        }
        self.live.push_front(run);
        run.number
    }

    /// The run that a later request continues: the one whose last request it extends furthest. A request that only repeats
    /// the last one of a run may also be by another run that has just come as far; then only a hold counts.
    fn continued(&self, messages: &[u8], is_held: impl Fn(u32) -> bool) -> Option<usize> {
        let extended = self.live.iter().enumerate().filter(|(_, run)| run.is_extended_by(messages));
        let furthest = extended.max_by_key(|(index, run)| {
            let (len, is_held) = (run.messages.0, is_held(run.number));
            (len < messages.len() || is_held, len, is_held, usize::MAX - index)
        });
        let held = || self.live.iter().position(|run| is_held(run.number));
        furthest.map(|(index, _)| index).or_else(held).or((!self.live.is_empty()).then_some(0))
    }
}

impl Run {
    fn is_extended_by(&self, messages: &[u8]) -> bool {
        let (len, hash) = self.messages;
        let Some((before, after)) = messages.split_at_checked(len) else { return false };
        // A message must also end where it ended: a number may have grown.
        let is_boundary = len == 0 || matches!(after.trim_ascii_start().first(), None | Some(b','));
        is_boundary && xxh3_64(before) == hash
    }
}

#[cfg(test)]
mod tests;
