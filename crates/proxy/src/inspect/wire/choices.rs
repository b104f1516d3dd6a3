//! The choices of one response. A client that asks for several (`n` in Chat Completions, `candidateCount` in Gemini's
//! API) gets them interleaved. Each has its own text and tool calls and may finish while others continue. The other
//! APIs have one choice.

use super::chat::PartialToolCall;

/// How many choices are tracked; checking one for repetition needs memory.
const MAX_CHOICES: usize = 8;

/// The choices in the order of their first piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choices {
    choices: Vec<Choice>,
    /// The position of the choice that is being read, past the end if it is not tracked.
    current: usize,
    /// There are more than [`MAX_CHOICES`].
    has_untracked: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The index in the API.
    pub(super) index: u64,
    pub(super) finished: bool,
    /// The tool calls, for APIs that do not mark the end of each.
    pub(super) calls: Vec<PartialToolCall>,
    /// Some call may be incomplete and cannot be made invalid: its tool takes plain text, any prefix of which could be
    /// complete, or there are too many calls to track.
    pub(super) has_opaque_call: bool,
    pub(crate) unread: UnreadDeltas,
}

/// What has arrived since the last check for repetition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnreadDeltas {
    pub(crate) text: String,
    pub(crate) tool_input: String,
    pub(crate) reasoning: String,
}

impl UnreadDeltas {
    /// Whether every part is shorter than this.
    pub(crate) fn is_shorter_than(&self, len: usize) -> bool {
        [&self.text, &self.tool_input, &self.reasoning].into_iter().all(|part| part.len() < len)
    }
}

impl Choices {
    /// Makes the choice with this index the current one.
    pub(super) fn select(&mut self, index: u64) {
        let known = self.choices.iter().position(|choice| choice.index == index);
        self.current = known.unwrap_or_else(|| {
            if self.choices.len() < MAX_CHOICES {
                self.choices.push(Choice { index, ..Choice::default() });
                self.choices.len() - 1
            } else {
                self.has_untracked = true;
                MAX_CHOICES
            }
        });
    }

    /// The current choice, by default the first one. `None` if it is not tracked.
    pub(crate) fn current_mut(&mut self) -> Option<&mut Choice> {
        if self.choices.is_empty() {
            self.choices.push(Choice::default());
        }
        self.choices.get_mut(self.current)
    }

    /// Whether the first choice is the current one. It represents the response.
    pub(super) fn is_first_choice(&self) -> bool {
        self.current == 0
    }

    /// The positions of all choices, with one past the end for the untracked ones.
    pub(crate) fn all(&self) -> impl Iterator<Item = usize> {
        0..self.choices.len() + usize::from(self.has_untracked)
    }

    /// The positions of the unfinished choices. Untracked ones count as unfinished.
    pub(crate) fn open(&self) -> impl Iterator<Item = usize> {
        self.all().filter(|at| self.choices.get(*at).is_none_or(|choice| !choice.finished))
    }

    /// The choices that a cut has to end. If all are finished, only the last event is missing and the first choice gets
    /// the text of the cut.
    pub(super) fn unfinished(&self) -> Vec<&Choice> {
        let open: Vec<&Choice> = self.choices.iter().filter(|choice| !choice.finished).collect();
        if open.is_empty() { self.choices.iter().take(1).collect() } else { open }
    }

    /// Whether there are more choices than a cut could end.
    pub(crate) fn has_untracked_choices(&self) -> bool {
        self.has_untracked
    }

    /// Whether some call may be incomplete and cannot be made invalid.
    pub(super) fn has_opaque_call(&self) -> bool {
        self.choices.iter().any(|choice| choice.has_opaque_call)
    }

    pub(super) fn are_all_finished(&self) -> bool {
        !self.has_untracked && self.choices.iter().all(|choice| choice.finished)
    }

    /// The unread deltas of each choice.
    pub(crate) fn unread_deltas_mut(&mut self) -> impl Iterator<Item = &mut UnreadDeltas> {
        self.choices.iter_mut().map(|choice| &mut choice.unread)
    }
}
