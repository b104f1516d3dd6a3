//! Watches an answer for degenerate output while it streams.

use belay_core::repetition::{RepetitionDetector, RepetitionFinding, RepetitionRules};

use super::choices::{Choices, UnreadDeltas};

/// Shorter answers are no chants, and most answers are short.
const MIN_WATCHED_BYTES: usize = 600;
/// How many times more is needed in the input of a call than in other data: a file that is written may repeat itself
/// for good reasons. What only runs out of control goes on until the model's own limit, far beyond that.
const TOOL_INPUT_FACTOR: u32 = 16;

/// And how many times more in a thought: it may weigh the same words again, but for no reader.
const REASONING_FACTOR: u32 = 1;

/// Watches every voice of an answer by itself.
#[derive(Debug)]
pub(super) struct RepetitionWatch {
    rules: Option<RepetitionRules>,
    listeners: Vec<ChoiceWatch>,
}

/// Listens to the text, the thoughts and the calls of one voice, each by itself.
#[derive(Debug, Default)]
struct ChoiceWatch {
    text: StreamWatch,
    thought: StreamWatch,
    input: StreamWatch,
    finding: Option<RepetitionFinding>,
}

/// Listens to one strand. What it needs is large, so it is made when there is enough to listen to.
#[derive(Debug, Default)]
struct StreamWatch {
    waiting: String,
    chant: Option<Box<RepetitionDetector>>,
}

impl RepetitionWatch {
    /// Without rules nobody watches.
    pub(super) fn new(rules: Option<RepetitionRules>) -> Self {
        Self { rules, listeners: Vec::new() }
    }

    /// Takes what has come.
    pub(super) fn consume(&mut self, voices: &mut Choices) {
        for (at, fresh) in voices.unread_deltas_mut().enumerate() {
            // What is too short to be heard stays where it is.
            if at >= self.listeners.len() && fresh.is_shorter_than(MIN_WATCHED_BYTES) {
                continue;
            }
            if let Some(rules) = &self.rules {
                if at == self.listeners.len() {
                    self.listeners.push(ChoiceWatch::default());
                }
                self.listeners[at].hear(fresh, rules);
            }
            fresh.text.clear();
            fresh.thought.clear();
            fresh.input.clear();
        }
    }

    /// What was found, if it was in each of these voices: one that is sound is worth waiting for.
    pub(super) fn finding(&self, mut voices: impl Iterator<Item = usize>) -> Option<&RepetitionFinding> {
        let of = |at: usize| self.listeners.get(at)?.finding.as_ref();
        let first = of(voices.next()?)?;
        voices.all(|at| of(at).is_some()).then_some(first)
    }
}

impl ChoiceWatch {
    fn hear(&mut self, fresh: &UnreadDeltas, rules: &RepetitionRules) {
        if self.finding.is_none() {
            let text = self.text.hear(&fresh.text, || *rules);
            let thought = self.thought.hear(&fresh.thought, || lax(rules, REASONING_FACTOR));
            let input = self.input.hear(&fresh.input, || lax(rules, TOOL_INPUT_FACTOR));
            self.finding = text.or(thought).or(input);
        }
    }
}

impl StreamWatch {
    fn hear(&mut self, piece: &str, rules: impl FnOnce() -> RepetitionRules) -> Option<RepetitionFinding> {
        if piece.is_empty() {
            return None;
        }
        if let Some(chant) = &mut self.chant {
            return chant.push(piece);
        }
        self.waiting.push_str(piece);
        if self.waiting.len() < MIN_WATCHED_BYTES {
            return None;
        }
        let mut chant = Box::new(RepetitionDetector::new(&rules()));
        let finding = chant.push(&std::mem::take(&mut self.waiting));
        self.chant = Some(chant);
        finding
    }
}

/// Rules for what may repeat itself: only strict repetition, and as many times more of it as of data.
fn lax(rules: &RepetitionRules, times: u32) -> RepetitionRules {
    let more = rules.structured_factor.saturating_mul(times);
    RepetitionRules {
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
