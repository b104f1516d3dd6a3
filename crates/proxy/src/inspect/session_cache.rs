//! What is remembered from one request to the next.

use std::collections::VecDeque;

use belay_core::SessionKey;
use belay_core::event::Usage;
use foldhash::HashMap;

use super::history::HistoryTracker;
use super::session_id::PrefixIndex;
use super::wire::WireApi;

/// Most conversations whose checkpoints are kept. One that was forgotten is read afresh.
const MAX_SESSIONS: usize = 4096;

#[derive(Default)]
pub(super) struct SessionCache {
    conversations: HashMap<SessionKey, SessionEntry>,
    uses: u64,
    pub(super) prefixes: PrefixIndex,
    /// Shapes we could not read, noted once each.
    strange: Vec<(WireApi, &'static str)>,
    /// Kinds and encodings of answers we could not read, noted once each.
    unreadable: Vec<(String, Option<String>)>,
    /// Sessions with a refused request since they last went on.
    pub(super) refused: VecDeque<SessionKey>,
}

/// What is known of one session.
#[derive(Default)]
pub(super) struct SessionEntry {
    used: u64,
    pub(super) history: HistoryTracker,
    /// Usage of the last response that reported prompt tokens.
    usage: Option<Usage>,
}

impl SessionCache {
    pub(super) fn entry(&mut self, session: &SessionKey) -> &mut SessionEntry {
        self.uses += 1;
        let now = self.uses;
        if self.conversations.len() >= MAX_SESSIONS && !self.conversations.contains_key(session) {
            // An eighth at once, so that a full memory does not search for the oldest at every request.
            let mut uses: Vec<u64> = self.conversations.values().map(|known| known.used).collect();
            let (_, oldest, _) = uses.select_nth_unstable(MAX_SESSIONS / 8);
            let oldest = *oldest;
            self.conversations.retain(|_, known| known.used > oldest);
        }
        let known = self.conversations.entry(session.clone()).or_default();
        known.used = now;
        known
    }

    /// What the newest answer to a turn of this session told about its cost, be it this one.
    pub(super) fn update_usage(&mut self, session: &SessionKey, told: Option<Usage>) -> Option<Usage> {
        let known = self.conversations.get_mut(session)?;
        known.usage = told.filter(|told| told.context() > 0).or(known.usage);
        known.usage
    }

    pub(super) fn record_refusal(&mut self, session: &SessionKey) {
        const MAX_RECORDED: usize = 256;
        if !self.refused.contains(session) {
            self.refused.truncate(MAX_RECORDED - 1);
            self.refused.push_front(session.clone());
        }
    }

    pub(super) fn warn_unknown_shape_once(&mut self, api: WireApi, agent: &'static str) {
        if !self.strange.contains(&(api, agent)) {
            self.strange.push((api, agent));
            tracing::warn!(?api, agent, "requests of a shape that is not known pass unread; this is said once");
        }
    }

    pub(super) fn warn_unreadable_once(&mut self, api: WireApi, kind: &str, encoding: Option<&str>) {
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
