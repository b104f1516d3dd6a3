//! Checks a response for repetition while it streams.

use belay_core::repetition::{RepetitionDetector, RepetitionFinding, RepetitionRules};

use crate::inspect::wire::{Choices, UnreadDeltas};

/// Shorter output is not checked. Typical responses are shorter.
const MIN_WATCHED_BYTES: usize = 600;
/// How many times more repetition is accepted in tool input than in other structured data: a file may repeat itself for
/// good reasons. Degenerate output continues up to the model's own limit, far beyond that.
const TOOL_INPUT_FACTOR: u32 = 16;
/// The same for reasoning, which may consider the same facts again.
const REASONING_FACTOR: u32 = 1;

/// Checks each choice separately.
#[derive(Debug)]
pub(super) struct RepetitionWatch {
    rules: Option<RepetitionRules>,
    choices: Vec<ChoiceWatch>,
}

/// Checks the text, the reasoning and the tool input of one choice, each by itself.
#[derive(Debug, Default)]
struct ChoiceWatch {
    text: StreamWatch,
    reasoning: StreamWatch,
    tool_input: StreamWatch,
    finding: Option<RepetitionFinding>,
}

/// Checks one kind of output. The detector is large, so it is created when there is enough to check.
#[derive(Debug, Default)]
struct StreamWatch {
    buffered: String,
    detector: Option<Box<RepetitionDetector>>,
}

impl RepetitionWatch {
    /// Without rules nothing is checked.
    pub(super) fn new(rules: Option<RepetitionRules>) -> Self {
        Self { rules, choices: Vec::new() }
    }

    /// Checks and clears the unread deltas.
    pub(super) fn consume(&mut self, choices: &mut Choices) {
        for (at, unread) in choices.unread_deltas_mut().enumerate() {
            // Output that is too short to check stays unread.
            if at >= self.choices.len() && unread.is_shorter_than(MIN_WATCHED_BYTES) {
                continue;
            }
            if let Some(rules) = &self.rules {
                if at == self.choices.len() {
                    self.choices.push(ChoiceWatch::default());
                }
                self.choices[at].push(unread, rules);
            }
            unread.text.clear();
            unread.reasoning.clear();
            unread.tool_input.clear();
        }
    }

    /// The first finding, if all of these choices have one: a healthy choice is worth waiting for.
    pub(super) fn finding(&self, mut choices: impl Iterator<Item = usize>) -> Option<&RepetitionFinding> {
        let of = |at: usize| self.choices.get(at)?.finding.as_ref();
        let first = of(choices.next()?)?;
        choices.all(|at| of(at).is_some()).then_some(first)
    }
}

impl ChoiceWatch {
    fn push(&mut self, unread: &UnreadDeltas, rules: &RepetitionRules) {
        if self.finding.is_none() {
            let text = self.text.push(&unread.text, || *rules);
            let reasoning = self.reasoning.push(&unread.reasoning, || relaxed(rules, REASONING_FACTOR));
            let tool_input = self.tool_input.push(&unread.tool_input, || relaxed(rules, TOOL_INPUT_FACTOR));
            self.finding = text.or(reasoning).or(tool_input);
        }
    }
}

impl StreamWatch {
    fn push(&mut self, piece: &str, rules: impl FnOnce() -> RepetitionRules) -> Option<RepetitionFinding> {
        if piece.is_empty() {
            return None;
        }
        if let Some(detector) = &mut self.detector {
            return detector.push(piece);
        }
        self.buffered.push_str(piece);
        if self.buffered.len() < MIN_WATCHED_BYTES {
            return None;
        }
        let mut detector = Box::new(RepetitionDetector::new(&rules()));
        let finding = detector.push(&std::mem::take(&mut self.buffered));
        self.detector = Some(detector);
        finding
    }
}

/// Rules for output that may repeat itself: only exact repetition counts, and `factor` times as much of it.
fn relaxed(rules: &RepetitionRules, factor: u32) -> RepetitionRules {
    let more = rules.structured_factor.saturating_mul(factor);
    RepetitionRules {
        bytes: rules.bytes.saturating_mul(more),
        rounds: rules.rounds.saturating_mul(more),
        structured_factor: 1,
        circle_words: 0,
        wordless_bytes: rules.wordless_bytes.saturating_mul(factor),
        ..*rules
    }
}

#[cfg(test)]
mod tests;
