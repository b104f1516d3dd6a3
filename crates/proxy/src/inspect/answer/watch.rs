//! Watches an answer for degenerate output while it streams.

use belay_core::chant::{Chant, ChantFinding, ChantRules};

use super::Fresh;

/// Shorter answers are no chants, and most answers are short.
const WORTH_WATCHING: usize = 600;
/// How many times more is needed in the input of a call than in other data: a file that is written may repeat itself
/// for good reasons. What only runs out of control goes on until the model's own limit, far beyond that.
const IN_A_CALL: u32 = 16;

/// Watches text and the input of calls, each by itself.
#[derive(Debug)]
pub(super) struct Watch {
    rules: Option<ChantRules>,
    text: Ear,
    input: Ear,
    finding: Option<ChantFinding>,
}

/// Listens to one strand. The listener is large, so it is made when there is enough to listen to.
#[derive(Debug, Default)]
struct Ear {
    waiting: String,
    chant: Option<Box<Chant>>,
}

impl Watch {
    /// Without rules nobody watches.
    pub(super) fn new(rules: Option<ChantRules>) -> Self {
        Self { rules, text: Ear::default(), input: Ear::default(), finding: None }
    }

    /// Takes what has come.
    pub(super) fn look(&mut self, fresh: &mut Fresh) {
        if let Some(rules) = &self.rules
            && self.finding.is_none()
        {
            self.finding =
                self.text.hear(&fresh.text, || *rules).or_else(|| self.input.hear(&fresh.input, || lax(rules)));
        }
        fresh.text.clear();
        fresh.input.clear();
    }

    pub(super) fn finding(&self) -> Option<&ChantFinding> {
        self.finding.as_ref()
    }

    pub(super) fn into_finding(self) -> Option<ChantFinding> {
        self.finding
    }
}

impl Ear {
    fn hear(&mut self, piece: &str, rules: impl FnOnce() -> ChantRules) -> Option<ChantFinding> {
        if piece.is_empty() {
            return None;
        }
        if let Some(chant) = &mut self.chant {
            return chant.push(piece);
        }
        self.waiting.push_str(piece);
        if self.waiting.len() < WORTH_WATCHING {
            return None;
        }
        let mut chant = Box::new(Chant::new(&rules()));
        let finding = chant.push(&std::mem::take(&mut self.waiting));
        self.chant = Some(chant);
        finding
    }
}

/// Rules for the input of calls: only strict repetition, and much of it.
fn lax(rules: &ChantRules) -> ChantRules {
    let more = rules.structured_factor.saturating_mul(IN_A_CALL);
    ChantRules {
        bytes: rules.bytes.saturating_mul(more),
        rounds: rules.rounds.saturating_mul(more),
        structured_factor: 1,
        circle_words: 0,
        wordless_bytes: rules.wordless_bytes.saturating_mul(IN_A_CALL),
        ..*rules
    }
}

#[cfg(test)]
mod tests;
