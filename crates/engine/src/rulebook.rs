//! Which rules apply where, and which applied when.

use std::collections::HashSet;
use std::sync::Arc;

use belay_core::{Digest, Rules};

/// Gives the rules of a project. Asked for every event: keep it quick.
pub trait RulesFor: Send {
    /// `project` is the folder the session works in, when known.
    fn rules_for(&self, project: Option<&str>) -> Arc<Rules>;
}

/// One set of rules for everything.
impl RulesFor for Arc<Rules> {
    fn rules_for(&self, _project: Option<&str>) -> Arc<Rules> {
        Arc::clone(self)
    }
}

impl<F: Fn(Option<&str>) -> Arc<Rules> + Send> RulesFor for F {
    fn rules_for(&self, project: Option<&str>) -> Arc<Rules> {
        self(project)
    }
}

/// Rules with their digest, which costs more than applying an event.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) rules: Arc<Rules>,
    pub(crate) digest: Digest,
}

/// Rules seen lately.
#[derive(Default)]
pub(crate) struct Rulebook {
    known: Vec<Known>,
    /// What applied to the latest event, and to which project: the next one is mostly of the same.
    latest: Option<(Option<String>, Known)>,
    /// Digests that are in the store for sure.
    pub(crate) stored: HashSet<Digest>,
}

impl Rulebook {
    const KEPT: usize = 64;

    /// Rules are asked for anew.
    pub(crate) fn look_again(&mut self) {
        self.latest = None;
    }

    /// The rules of a project, as they were when they were last looked at.
    pub(crate) fn of(&mut self, project: Option<&str>, rules: &dyn RulesFor) -> Known {
        match &self.latest {
            Some((of, known)) if of.as_deref() == project => known.clone(),
            _ => {
                let known = self.know(rules.rules_for(project));
                self.latest = Some((project.map(str::to_owned), known.clone()));
                known
            }
        }
    }

    fn know(&mut self, rules: Arc<Rules>) -> Known {
        if let Some(known) = self.known.iter().find(|known| Arc::ptr_eq(&known.rules, &rules)) {
            return known.clone();
        }
        let known = Known { digest: rules.digest(), rules };
        if self.known.len() == Self::KEPT {
            self.known.remove(0);
        }
        self.known.push(known.clone());
        known
    }

    pub(crate) fn find(&self, digest: Digest) -> Option<Arc<Rules>> {
        self.known.iter().find(|known| known.digest == digest).map(|known| Arc::clone(&known.rules))
    }
}
