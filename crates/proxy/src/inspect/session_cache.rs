//! State that inspections share between requests.

use std::collections::VecDeque;
use std::num::NonZeroUsize;

use belay_core::SessionKey;
use belay_core::event::Usage;
use foldhash::fast::RandomState;
use lru::LruCache;

use super::anonymous_sessions::AnonymousSessions;
use super::history::HistoryTracker;
use super::session_id::PrefixIndex;
use super::wire::WireApi;

/// How many sessions are cached. The history of an evicted session is read as a new one.
const MAX_SESSIONS: NonZeroUsize = NonZeroUsize::new(4096).expect("not zero");

pub(super) struct SessionCache {
    conversations: LruCache<SessionKey, SessionEntry, RandomState>,
    pub(super) prefixes: PrefixIndex,
    pub(super) anonymous: AnonymousSessions,
    /// Unknown shapes of requests that were logged.
    logged_shapes: Vec<(WireApi, &'static str)>,
    /// Content types and encodings of unreadable responses that were logged.
    logged_types: Vec<(String, Option<String>)>,
    /// Sessions whose last request was refused.
    pub(super) refused: VecDeque<SessionKey>,
}

#[derive(Default)]
pub(super) struct SessionEntry {
    pub(super) history: HistoryTracker,
    /// Usage of the last response that reported prompt tokens.
    usage: Option<Usage>,
}

impl Default for SessionCache {
    fn default() -> Self {
        Self {
            conversations: LruCache::with_hasher(MAX_SESSIONS, RandomState::default()),
            prefixes: PrefixIndex::default(),
            anonymous: AnonymousSessions::default(),
            logged_shapes: Vec::new(),
            logged_types: Vec::new(),
            refused: VecDeque::new(),
        }
    }
}

impl SessionCache {
    pub(super) fn entry(&mut self, session: &SessionKey) -> &mut SessionEntry {
        self.conversations.get_or_insert_mut_ref(session, SessionEntry::default)
    }

    /// Stores the usage of a response if it reports prompt tokens. Returns the last such usage.
    pub(super) fn update_usage(&mut self, session: &SessionKey, reported: Option<Usage>) -> Option<Usage> {
        let known = self.conversations.peek_mut(session)?;
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
