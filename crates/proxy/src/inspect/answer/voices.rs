//! Alternatives of one answer. Whoever asks for several (`n` in Chat Completions, `candidateCount` in Gemini's API) gets
//! them in turns, a piece of one and a piece of another: each is a text of its own, with calls of its own, and may be
//! over while others go on. Answers of the other APIs have one voice.

use super::chat::CallSoFar;

/// Most alternatives that are told apart; who watches one of them needs room.
const MOST: usize = 8;

/// All voices of an answer, the first to speak first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Voices {
    voices: Vec<Voice>,
    /// Which of them speaks; behind the last where it is not told apart.
    speaking: usize,
    /// There are more than are told apart.
    crowded: bool,
}

/// One of the alternatives, as far as it has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Voice {
    /// By which its API tells it from others.
    pub(super) index: u64,
    /// Its last piece has come.
    pub(super) done: bool,
    /// All calls, where nothing but their input tells when they are complete.
    pub(super) calls: Vec<CallSoFar>,
    /// Some call may be half, and nothing can tell or spoil it: its tool takes words, any beginning of which could be the
    /// whole, or there are more calls than are told apart.
    pub(super) unsure: bool,
    pub(super) fresh: Fresh,
}

/// What has come since somebody looked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fresh {
    pub(super) text: String,
    pub(super) input: String,
    pub(super) thought: String,
}

impl Fresh {
    /// Whether none of it is as long as this.
    pub(super) fn is_short(&self, len: usize) -> bool {
        [&self.text, &self.input, &self.thought].into_iter().all(|strand| strand.len() < len)
    }
}

impl Voices {
    /// From here on the voice with this index speaks.
    pub(super) fn turn_to(&mut self, index: u64) {
        let known = self.voices.iter().position(|voice| voice.index == index);
        self.speaking = known.unwrap_or_else(|| {
            if self.voices.len() < MOST {
                self.voices.push(Voice { index, ..Voice::default() });
                self.voices.len() - 1
            } else {
                self.crowded = true;
                MOST
            }
        });
    }

    /// Whoever speaks; `None` where it is one too many. Who never turned to another hears the only one.
    pub(super) fn speaking(&mut self) -> Option<&mut Voice> {
        if self.voices.is_empty() {
            self.voices.push(Voice::default());
        }
        self.voices.get_mut(self.speaking)
    }

    /// Whether the first one speaks, who stands for all.
    pub(super) fn is_first(&self) -> bool {
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
    pub(super) fn to_end(&self) -> Vec<&Voice> {
        let open: Vec<&Voice> = self.voices.iter().filter(|voice| !voice.done).collect();
        if open.is_empty() { self.voices.iter().take(1).collect() } else { open }
    }

    /// Whether there are more than could be ended properly.
    pub(super) fn is_crowded(&self) -> bool {
        self.crowded
    }

    /// Whether nothing can be said about some call.
    pub(super) fn is_unsure(&self) -> bool {
        self.voices.iter().any(|voice| voice.unsure)
    }

    /// Whether everybody who spoke has come to an end.
    pub(super) fn are_done(&self) -> bool {
        !self.crowded && self.voices.iter().all(|voice| voice.done)
    }

    /// What has come from each since somebody looked.
    pub(super) fn fresh(&mut self) -> impl Iterator<Item = &mut Fresh> {
        self.voices.iter_mut().map(|voice| &mut voice.fresh)
    }
}

#[cfg(test)]
mod tests;
