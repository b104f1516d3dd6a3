//! Which rules apply where, and which applied when.

use std::collections::HashSet;
use std::sync::Arc;

use belay_core::{Digest, Rules};

/// Gives the rules of a project. Asked for every event: keep it quick.
pub trait RulesProvider: Send {
    /// `project` is the folder the session works in, when known.
    fn rules_for(&self, project: Option<&str>) -> Arc<Rules>;
}

/// One set of rules for everything.
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

/// Rules with their digest, which costs more than applying an event.
#[derive(Clone, Debug)]
pub(crate) struct CachedRules {
    pub(crate) rules: Arc<Rules>,
    pub(crate) digest: Digest,
}

/// Rules seen lately.
#[derive(Default)]
pub(crate) struct RulesCache {
    known: Vec<CachedRules>,
    /// What applied to the latest event, and to which project: the next one is mostly of the same.
    latest: Option<(Option<String>, CachedRules)>,
    /// Digests that are in the store for sure.
    pub(crate) stored: HashSet<Digest>,
}

impl RulesCache {
    const MAX_RULE_SETS: usize = 64;

    /// Rules are asked for anew.
    pub(crate) fn refresh(&mut self) {
        self.latest = None;
    }

    /// The rules of a project, as they were when they were last looked at.
    pub(crate) fn rules_for(&mut self, project: Option<&str>, rules: &dyn RulesProvider) -> CachedRules {
        match &self.latest {
            Some((of, known)) if of.as_deref() == project => known.clone(),
            _ => {
                let known = self.know(rules.rules_for(project));
                self.latest = Some((project.map(str::to_owned), known.clone()));
                known
            }
        }
    }

    fn know(&mut self, rules: Arc<Rules>) -> CachedRules {
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
