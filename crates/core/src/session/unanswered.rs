//! Calls that no result arrives for.

use super::Session;
use crate::detect::Trigger;
use crate::effect::Effect;
use crate::policy::Evaluation;
use crate::rules::Rules;

impl Session {
    /// Judges the newest calls although they have no result: nothing follows that could bring one. Returns the effects.
    pub fn settle_unanswered(&mut self, rules: &Rules) -> Vec<Effect> {
        let mut effects = Vec::new();
        let at = self.facts.last_at;
        for focus in self.window.unanswered() {
            self.resolve_unanswered(focus, rules);
            let trigger = Trigger::CallUpdated;
            self.evaluate(Evaluation { trigger, focus, pending: false, at }, rules, &mut effects);
        }
        effects
    }

    pub(super) fn resolve_unanswered(&mut self, at: usize, rules: &Rules) {
        self.resolve_call(at, rules);
        if let Some(call) = self.window.get(at) {
            self.findings.confirm_unanswered(call.ordinal);
        }
    }
}
