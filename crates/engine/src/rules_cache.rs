//! The rules of each project, and cached rules by digest.

use std::collections::HashSet;
use std::sync::Arc;

use belay_core::{Digest, Rules};

/// Provides the rules of a project. Called for every batch, so it must be fast.
pub trait RulesProvider: Send {
    /// `project` is the directory the session works in, if known.
    fn rules_for(&self, project: Option<&str>) -> Arc<Rules>;
}

/// The same rules for every project.
impl RulesProvider for Arc<Rules> {
    fn rules_for(&self, _project: Option<&str>) -> Arc<Rules> {
        Arc::clone(self)
    }
}

impl<F: Fn(Option<&str>) -> Arc<Rules> + Send> RulesProvider for F {
    fn rules_for(&self, project: Option<&str>) -> Arc<Rules> {
        self(project)
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

    /// The rules of a project, from the cache if it is the project of the latest event.
    pub(crate) fn rules_for(&mut self, project: Option<&str>, rules: &dyn RulesProvider) -> CachedRules {
        match &self.latest {
            Some((cached, known)) if cached.as_deref() == project => known.clone(),
            _ => {
                let known = self.intern(rules.rules_for(project));
                self.latest = Some((project.map(str::to_owned), known.clone()));
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
