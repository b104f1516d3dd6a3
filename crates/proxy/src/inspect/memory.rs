//! What is remembered from one request to the next.

use std::collections::VecDeque;

use belay_core::SessionKey;
use belay_core::event::Usage;
use foldhash::HashMap;

use super::api::Api;
use super::conversation::Conversation;
use super::identity::Beginnings;

/// Most conversations whose checkpoints are kept. One that was forgotten is read afresh.
const CONVERSATIONS: usize = 4096;

#[derive(Default)]
pub(super) struct Memory {
    conversations: HashMap<SessionKey, Known>,
    uses: u64,
    pub(super) beginnings: Beginnings,
    /// Shapes we could not read, noted once each.
    strange: Vec<(Api, &'static str)>,
    /// Kinds and encodings of answers we could not read, noted once each.
    unreadable: Vec<(String, Option<String>)>,
    /// Sessions with a refused request since they last went on.
    pub(super) refused: VecDeque<SessionKey>,
}

/// What is known of one session.
#[derive(Default)]
pub(super) struct Known {
    used: u64,
    pub(super) conversation: Conversation,
    /// Number of the newest request that was read.
    pub(super) newest: u64,
    /// What the last answer told that told anything of its question.
    usage: Option<Usage>,
}

impl Memory {
    pub(super) fn known(&mut self, session: &SessionKey) -> &mut Known {
        self.uses += 1;
        let now = self.uses;
        if self.conversations.len() >= CONVERSATIONS && !self.conversations.contains_key(session) {
            // An eighth at once, so that a full memory does not search for the oldest at every request.
            let mut uses: Vec<u64> = self.conversations.values().map(|known| known.used).collect();
            let (_, oldest, _) = uses.select_nth_unstable(CONVERSATIONS / 8);
            let oldest = *oldest;
            self.conversations.retain(|_, known| known.used > oldest);
        }
        let known = self.conversations.entry(session.clone()).or_default();
        known.used = now;
        known
    }

    /// What the newest answer to a turn of this session told about its cost, be it this one.
    pub(super) fn usage(&mut self, session: &SessionKey, told: Option<Usage>) -> Option<Usage> {
        let known = self.conversations.get_mut(session)?;
        known.usage = told.filter(|told| told.context() > 0).or(known.usage);
        known.usage
    }

    pub(super) fn note_refused(&mut self, session: &SessionKey) {
        const KEPT: usize = 256;
        if !self.refused.contains(session) {
            self.refused.truncate(KEPT - 1);
            self.refused.push_front(session.clone());
        }
    }

    pub(super) fn note_strange(&mut self, api: Api, agent: &'static str) {
        if !self.strange.contains(&(api, agent)) {
            self.strange.push((api, agent));
            tracing::warn!(?api, agent, "requests of a shape that is not known pass unread; this is said once");
        }
    }

    pub(super) fn note_unreadable(&mut self, api: Api, kind: &str, encoding: Option<&str>) {
        // Whoever makes up a new one with every answer is not worth the memory.
        const KEPT: usize = 64;
        let is_known = |known: &(String, Option<String>)| known.0 == kind && known.1.as_deref() == encoding;
        if self.unreadable.len() < KEPT && !self.unreadable.iter().any(is_known) {
            tracing::warn!(
                ?api,
                kind,
                encoding,
                "answers of this kind, packed like this, pass unread; this is said once"
            );
            self.unreadable.push((kind.to_owned(), encoding.map(str::to_owned)));
        }
    }
}
