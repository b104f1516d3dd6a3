//! Alternatives of one answer. Whoever asks for several (`n` in Chat Completions, `candidateCount` in Gemini's API) gets
//! them in turns, a piece of one and a piece of another: each is a text of its own, with calls of its own, and may be
//! over while others go on. Answers of the other APIs have one voice.

use super::chat::PartialToolCall;

/// Most alternatives that are told apart; who watches one of them needs room.
const MAX_CHOICES: usize = 8;

/// All voices of an answer, the first to speak first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choices {
    voices: Vec<Choice>,
    /// Which of them speaks; behind the last where it is not told apart.
    speaking: usize,
    /// There are more than are told apart.
    crowded: bool,
}

/// One of the alternatives, as far as it has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Choice {
    /// By which its API tells it from others.
    pub(super) index: u64,
    /// Its last piece has come.
    pub(super) done: bool,
    /// All calls, where nothing but their input tells when they are complete.
    pub(super) calls: Vec<PartialToolCall>,
    /// Some call may be half, and nothing can tell or spoil it: its tool takes words, any beginning of which could be the
    /// whole, or there are more calls than are told apart.
    pub(super) unsure: bool,
    pub(super) fresh: UnreadDeltas,
}

/// What has come since somebody looked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UnreadDeltas {
    pub(super) text: String,
    pub(super) input: String,
    pub(super) thought: String,
}

impl UnreadDeltas {
    /// Whether none of it is as long as this.
    pub(super) fn is_shorter_than(&self, len: usize) -> bool {
        [&self.text, &self.input, &self.thought].into_iter().all(|strand| strand.len() < len)
    }
}

impl Choices {
    /// From here on the voice with this index speaks.
    pub(super) fn select(&mut self, index: u64) {
        let known = self.voices.iter().position(|voice| voice.index == index);
        self.speaking = known.unwrap_or_else(|| {
            if self.voices.len() < MAX_CHOICES {
                self.voices.push(Choice { index, ..Choice::default() });
                self.voices.len() - 1
            } else {
                self.crowded = true;
                MAX_CHOICES
            }
        });
    }

    /// Whoever speaks; `None` where it is one too many. Who never turned to another hears the only one.
    pub(super) fn current_mut(&mut self) -> Option<&mut Choice> {
        if self.voices.is_empty() {
            self.voices.push(Choice::default());
        }
        self.voices.get_mut(self.speaking)
    }

    /// Whether the first one speaks, who stands for all.
    pub(super) fn is_first_choice(&self) -> bool {
        self.speaking == 0
    }

    /// Places of all voices, behind the last one where there are some that nobody knows.
    pub(super) fn all(&self) -> impl Iterator<Item = usize> {
        0..self.voices.len() + usize::from(self.crowded)
    }

    /// Places of those who have not come to their end, as far as anybody knows.
    pub(super) fn open(&self) -> impl Iterator<Item = usize> {
        self.all().filter(|at| self.voices.get(*at).is_none_or(|voice| !voice.done))
    }

    /// Those who are to be ended where an answer is cut off. Where all are done only the last event is missing, and the
    /// first one takes the note.
    pub(super) fn unfinished(&self) -> Vec<&Choice> {
        let open: Vec<&Choice> = self.voices.iter().filter(|voice| !voice.done).collect();
        if open.is_empty() { self.voices.iter().take(1).collect() } else { open }
    }

    /// Whether there are more than could be ended properly.
    pub(super) fn has_untracked_choices(&self) -> bool {
        self.crowded
    }

    /// Whether nothing can be said about some call.
    pub(super) fn has_unsafe_partial_call(&self) -> bool {
        self.voices.iter().any(|voice| voice.unsure)
    }

    /// Whether everybody who spoke has come to an end.
    pub(super) fn are_all_finished(&self) -> bool {
        !self.crowded && self.voices.iter().all(|voice| voice.done)
    }

    /// What has come from each since somebody looked.
    pub(super) fn unread_deltas_mut(&mut self) -> impl Iterator<Item = &mut UnreadDeltas> {
        self.voices.iter_mut().map(|voice| &mut voice.fresh)
    }
}

#[cfg(test)]
mod tests;
