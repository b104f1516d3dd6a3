//! Watches an answer for degenerate output while it streams.

use belay_core::chant::{Chant, ChantFinding, ChantRules};

use super::voices::{Fresh, Voices};

/// Shorter answers are no chants, and most answers are short.
const WORTH_WATCHING: usize = 600;
/// How many times more is needed in the input of a call than in other data: a file that is written may repeat itself
/// for good reasons. What only runs out of control goes on until the model's own limit, far beyond that.
const IN_A_CALL: u32 = 16;

/// And how many times more in a thought: it may weigh the same words again, but for no reader.
const IN_A_THOUGHT: u32 = 1;

/// Watches every voice of an answer by itself.
#[derive(Debug)]
pub(super) struct Watch {
    rules: Option<ChantRules>,
    listeners: Vec<Listener>,
}

/// Listens to the text, the thoughts and the calls of one voice, each by itself.
#[derive(Debug, Default)]
struct Listener {
    text: Ear,
    thought: Ear,
    input: Ear,
    finding: Option<ChantFinding>,
}

/// Listens to one strand. What it needs is large, so it is made when there is enough to listen to.
#[derive(Debug, Default)]
struct Ear {
    waiting: String,
    chant: Option<Box<Chant>>,
}

impl Watch {
    /// Without rules nobody watches.
    pub(super) fn new(rules: Option<ChantRules>) -> Self {
        Self { rules, listeners: Vec::new() }
    }

    /// Takes what has come.
    pub(super) fn look(&mut self, voices: &mut Voices) {
        for (at, fresh) in voices.fresh().enumerate() {
            // What is too short to be heard stays where it is.
            if at >= self.listeners.len() && fresh.is_short(WORTH_WATCHING) {
                continue;
            }
            if let Some(rules) = &self.rules {
                if at == self.listeners.len() {
                    self.listeners.push(Listener::default());
                }
                self.listeners[at].hear(fresh, rules);
            }
            fresh.text.clear();
            fresh.thought.clear();
            fresh.input.clear();
        }
    }

    /// What was found, if it was in each of these voices: one that is sound is worth waiting for.
    pub(super) fn finding(&self, mut voices: impl Iterator<Item = usize>) -> Option<&ChantFinding> {
        let of = |at: usize| self.listeners.get(at)?.finding.as_ref();
        let first = of(voices.next()?)?;
        voices.all(|at| of(at).is_some()).then_some(first)
    }
}

impl Listener {
    fn hear(&mut self, fresh: &Fresh, rules: &ChantRules) {
        if self.finding.is_none() {
            let text = self.text.hear(&fresh.text, || *rules);
            let thought = self.thought.hear(&fresh.thought, || lax(rules, IN_A_THOUGHT));
            let input = self.input.hear(&fresh.input, || lax(rules, IN_A_CALL));
            self.finding = text.or(thought).or(input);
        }
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

/// Rules for what may repeat itself: only strict repetition, and as many times more of it as of data.
fn lax(rules: &ChantRules, times: u32) -> ChantRules {
    let more = rules.structured_factor.saturating_mul(times);
    ChantRules {
        bytes: rules.bytes.saturating_mul(more),
        rounds: rules.rounds.saturating_mul(more),
        structured_factor: 1,
        circle_words: 0,
        wordless_bytes: rules.wordless_bytes.saturating_mul(times),
        ..*rules
    }
}

#[cfg(test)]
mod tests;
