//! The rules of each session, and cached rules by digest.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use belay_core::{Body, Digest, Event, Rules, Session};

/// What the rules of a session depend on.
#[derive(Clone, Copy, Debug, Default)]
pub struct RulesScope<'a> {
    /// The directory the session works in, if known.
    pub project: Option<&'a str>,
    /// Settings of this session only; `None` for none.
    pub settings: Option<&'a BTreeMap<String, String>>,
}

impl<'a> RulesScope<'a> {
    /// The scope of a session when it gets an event.
    pub(crate) fn for_event(session: &'a Session, event: &'a Event) -> Self {
        Self { project: project_of(session, event), settings: Self::settings(session) }
    }

    pub(crate) fn settings(session: &Session) -> Option<&BTreeMap<String, String>> {
        Some(&session.settings).filter(|settings| !settings.is_empty())
    }
}

/// The project of a session, as far as it is known.
pub(crate) fn project_of<'a>(session: &'a Session, event: &'a Event) -> Option<&'a str> {
    let started = match &event.body {
        Body::SessionStarted(start) => start.project.as_deref(),
        _ => None,
    };
    let facts = &session.facts;
    started.or(facts.project.as_deref()).or(event.cwd.as_deref()).or(facts.cwd.as_deref())
}

/// Provides the rules of a session. Called for every batch, so it must be fast.
pub trait RulesProvider: Send {
    fn rules_for(&self, scope: RulesScope<'_>) -> Arc<Rules>;
}

/// The same rules for every session.
impl RulesProvider for Arc<Rules> {
    fn rules_for(&self, _scope: RulesScope<'_>) -> Arc<Rules> {
        Arc::clone(self)
    }
}

impl<F: Fn(RulesScope<'_>) -> Arc<Rules> + Send> RulesProvider for F {
    fn rules_for(&self, scope: RulesScope<'_>) -> Arc<Rules> {
        self(scope)
    }
}

/// Rules with their digest, cached because computing it costs more than applying an event.
#[derive(Clone, Debug)]
pub(crate) struct CachedRules {
    pub(crate) rules: Arc<Rules>,
    pub(crate) digest: Digest,
}

/// Recently used rules.
#[derive(Default)]
pub(crate) struct RulesCache {
    known: Vec<CachedRules>,
    /// Project and rules of the latest event; the next event is usually of the same project.
    latest: Option<(Option<String>, CachedRules)>,
    /// Digests known to be in the store.
    pub(crate) stored: HashSet<Digest>,
}

impl RulesCache {
    const MAX_RULE_SETS: usize = 64;

    /// Makes the next lookup ask the provider again.
    pub(crate) fn refresh(&mut self) {
        self.latest = None;
    }

    /// The rules of a session, from the cache if its project is that of the latest event.
    pub(crate) fn rules_for(&mut self, scope: RulesScope<'_>, rules: &dyn RulesProvider) -> CachedRules {
        match &self.latest {
            Some((cached, known)) if cached.as_deref() == scope.project && scope.settings.is_none() => known.clone(),
            _ => {
                let known = self.intern(rules.rules_for(scope));
                if scope.settings.is_none() {
                    self.latest = Some((scope.project.map(str::to_owned), known.clone()));
                }
                known
            }
        }
    }

    fn intern(&mut self, rules: Arc<Rules>) -> CachedRules {
        if let Some(known) = self.known.iter().find(|known| Arc::ptr_eq(&known.rules, &rules)) {
            return known.clone();
        }
        let known = CachedRules { digest: rules.digest(), rules };
        if self.known.len() == Self::MAX_RULE_SETS {
            self.known.remove(0);
        }
        self.known.push(known.clone());
        known
    }

    pub(crate) fn by_digest(&self, digest: Digest) -> Option<Arc<Rules>> {
        self.known.iter().find(|known| known.digest == digest).map(|known| Arc::clone(&known.rules))
    }
}
