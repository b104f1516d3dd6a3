//! State that inspections share between requests.

use std::collections::VecDeque;

use belay_core::SessionKey;
use belay_core::event::Usage;
use foldhash::HashMap;

use super::history::HistoryTracker;
use super::session_id::PrefixIndex;
use super::wire::WireApi;

/// How many sessions are cached. The history of an evicted session is read as a new one.
const MAX_SESSIONS: usize = 4096;

#[derive(Default)]
pub(super) struct SessionCache {
    conversations: HashMap<SessionKey, SessionEntry>,
    uses: u64,
    pub(super) prefixes: PrefixIndex,
    /// Unknown shapes of requests that were logged.
    logged_shapes: Vec<(WireApi, &'static str)>,
    /// Content types and encodings of unreadable responses that were logged.
    logged_types: Vec<(String, Option<String>)>,
    /// Sessions whose last request was refused.
    pub(super) refused: VecDeque<SessionKey>,
}

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
            // Evicts an eighth at once, so that a full cache is not searched at every request.
            let mut uses: Vec<u64> = self.conversations.values().map(|known| known.used).collect();
            let (_, oldest, _) = uses.select_nth_unstable(MAX_SESSIONS / 8);
            let oldest = *oldest;
            self.conversations.retain(|_, known| known.used > oldest);
        }
        let known = self.conversations.entry(session.clone()).or_default();
        known.used = now;
        known
    }

    /// Stores the usage of a response if it reports prompt tokens. Returns the last such usage.
    pub(super) fn update_usage(&mut self, session: &SessionKey, reported: Option<Usage>) -> Option<Usage> {
        let known = self.conversations.get_mut(session)?;
        known.usage = reported.filter(|usage| usage.context() > 0).or(known.usage);
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
        if !self.logged_shapes.contains(&(api, agent)) {
            self.logged_shapes.push((api, agent));
            tracing::warn!(?api, agent, "requests of an unknown shape are relayed without inspection; logged once");
        }
    }

    pub(super) fn warn_unreadable_once(&mut self, api: WireApi, kind: &str, encoding: Option<&str>) {
        const MAX_LOGGED: usize = 64;
        let is_known = |known: &(String, Option<String>)| known.0 == kind && known.1.as_deref() == encoding;
        if self.logged_types.len() < MAX_LOGGED && !self.logged_types.iter().any(is_known) {
            tracing::warn!(
                ?api,
                kind,
                encoding,
                "responses of this type and encoding are relayed without inspection; logged once"
            );
            self.logged_types.push((kind.to_owned(), encoding.map(str::to_owned)));
        }
    }
}
