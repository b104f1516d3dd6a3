//! What a person complains about: the same error or complaint again, though the agent has answered each time.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::call::{ShortDigest, shorten};
use super::prompt_phrases::is_bare_go_on;
use crate::digest::Digest;
use crate::event::TextFingerprint;
use crate::outcome::{Outcome, normalise};

/// Maximum number of different complaints that are remembered.
const MAX_COMPLAINTS: usize = 6;
/// Lines of a pasted text that are compared.
const MAX_LINES: usize = 16;
/// Texts of fewer lines are compared as a whole.
const MIN_LINES: usize = 4;
/// How many of a hundred lines two pasted texts have in common if they say the same. Other lines are news.
const SAME_LINES_PERCENT: usize = 95;
/// How similar two short complaints are that say the same.
const SIMILARITY: f32 = 0.85;
/// Shorter messages ("again", "next", "/test") are orders.
const MIN_BYTES: usize = 16;

/// Longer messages are pasted; they are complaints if a line of them names an error.
const MAX_TYPED_BYTES: usize = 400;

/// Longer messages say what the matter is, and are compared with others.
const MAX_REFERENCE_BYTES: usize = 200;

/// Beginnings of a message, in lower case, that refer to the complaint before it: the last answer did not settle it.
const REFERENCES: &[&str] = &[
    "still",
    "nope",
    "no, still",
    "no still",
    "same error",
    "same issue",
    "same problem",
    "same thing",
    "it's still",
    "its still",
    "it's the same",
    "its the same",
    "sorry to say it's the same",
    "immer noch",
    "geht immer noch nicht",
    "toujours pas",
    "sigue sin",
    "ainda não",
];

/// Words of a complaint, in lower case.
const COMPLAINT_WORDS: &[&str] = &[
    "error",
    "exception",
    "traceback",
    "fail",
    "crash",
    "doesn't work",
    "does not work",
    "doesnt work",
    "not working",
    "still not",
    "still the same",
    "still get",
    "still see",
    "same issue",
    "same problem",
    "wrong",
    "broken",
    "nothing happens",
    "nothing changed",
    "funktioniert nicht",
    "geht nicht",
    "immer noch",
    "fehler",
    "no funciona",
    "ne marche pas",
];

/// The complaints of a session's person.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Complaints {
    recent: VecDeque<Complaint>,
    /// The agent has answered since the last message.
    answered: bool,
    /// Index of the complaint that the newest message is.
    newest: Option<usize>,
    /// Index of the latest complaint, while the person has said nothing else since.
    #[serde(default)]
    open: Option<usize>,
}

/// One complaint, in whatever words it was first made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Complaint {
    whole: TextFingerprint,
    lines: Vec<ShortDigest>,
    /// How often it was made.
    pub count: u32,
    /// Ordinal of the next call when it was first made.
    pub first: u64,
    /// Its beginning, redacted.
    pub text: Box<str>,
}

impl Complaints {
    /// The agent did something.
    pub(super) fn on_answer(&mut self) {
        self.answered = true;
    }

    /// A message of the person; `next_call` is the ordinal of the next call.
    pub(super) fn on_message(&mut self, text: &str, next_call: u64) {
        // Without an answer in between, it continues the last message: a log that is pasted in pieces.
        let answered = std::mem::take(&mut self.answered) || self.recent.is_empty();
        self.newest = None;
        if !answered {
            return;
        }
        let refers = refers_to_complaint(text);
        if !refers && !is_complaint(text) {
            if !is_bare_go_on(text) {
                self.open = None;
            }
            return;
        }
        let complaint = Complaint::from_text(text, next_call);
        let known = self.recent.iter().position(|known| known.says_the_same(&complaint));
        if let Some(at) = known.or(self.open.filter(|_| refers)) {
            self.recent[at].count = self.recent[at].count.saturating_add(1);
            self.newest = Some(at);
            self.open = Some(at);
            return;
        }
        if self.recent.len() == MAX_COMPLAINTS {
            self.recent.pop_front();
        }
        self.recent.push_back(complaint);
        self.open = Some(self.recent.len() - 1);
    }

    /// The complaint that the newest message repeats.
    pub fn repeated(&self) -> Option<&Complaint> {
        self.recent.get(self.newest?)
    }
}

impl Complaint {
    fn from_text(text: &str, first: u64) -> Self {
        let steady = normalise(text);
        let lines = steady.lines().map(str::trim).filter(|line| !line.is_empty());
        Self {
            whole: TextFingerprint::from_text(text),
            lines: lines.map(|line| ShortDigest::from(Digest::from_bytes(line))).take(MAX_LINES).collect(),
            count: 1,
            first,
            text: shorten(text),
        }
    }

    /// Identifies the complaint.
    pub fn digest(&self) -> Digest {
        self.whole.digest
    }

    fn says_the_same(&self, other: &Self) -> bool {
        let (short, long) = match self.lines.len() <= other.lines.len() {
            true => (&self.lines, &other.lines),
            false => (&other.lines, &self.lines),
        };
        if long.len() < MIN_LINES {
            return self.whole.similarity(&other.whole) >= SIMILARITY;
        }
        let common = short.iter().filter(|line| long.contains(line)).count();
        common * 100 >= long.len() * SAME_LINES_PERCENT
    }
}

/// Whether a message only says that the complaint before it still holds: "still cannot drag".
fn refers_to_complaint(text: &str) -> bool {
    let text = text.trim();
    text.len() <= MAX_REFERENCE_BYTES && {
        let lower = text.to_lowercase();
        let follows = |rest: &str| rest.chars().next().is_none_or(|c| !c.is_alphanumeric());
        REFERENCES.iter().any(|start| lower.strip_prefix(start).is_some_and(follows))
    }
}

/// Whether a message reports an error or complains; anything else may be a standing order. Long texts that only mention
/// errors are instructions, such as the template behind a slash command.
fn is_complaint(text: &str) -> bool {
    let text = text.trim();
    if text.len() < MIN_BYTES || text.starts_with(['/', '#', '<', '$']) {
        return false;
    }
    if text.len() > MAX_TYPED_BYTES {
        return Outcome::from_output(text, None).family.is_some();
    }
    let lower = text.to_lowercase();
    COMPLAINT_WORDS.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often the last of these messages was made, with an answer after each.
    fn repeated(messages: &[&str]) -> u32 {
        let mut complaints = Complaints::default();
        for message in messages {
            complaints.on_message(message, 0);
            complaints.on_answer();
        }
        complaints.repeated().map_or(1, |complaint| complaint.count)
    }

    #[test]
    fn the_same_complaint_counts_across_other_messages() {
        let complaint = "The login page still shows the same error as before";
        assert_eq!(repeated(&[complaint, "what did you change?", complaint, complaint]), 3);
        assert_eq!(repeated(&["run the tests again", "run the tests again", "run the tests again"]), 1);
        assert_eq!(repeated(&["/test error", "/test error"]), 1, "a slash command is an order");
        let template = format!("## Input\nYou must stop at an error. {}", "Then write the plan. ".repeat(30));
        assert_eq!(repeated(&[&template, &template, &template]), 1, "so is what it stands for");
    }

    #[test]
    fn still_not_refers_to_the_complaint_before() {
        let first = "The handle doesn't work, it starts a selection";
        assert_eq!(repeated(&[first, "still cannot drag nodes", "Nope, still cannot drag."]), 3);
        assert_eq!(repeated(&[first, "still laggy", "continue", "same error"]), 3, "a bare order says nothing else");
        assert_eq!(repeated(&[first, "still laggy", "that worked! now add a test", "still laggy"]), 1);
        assert_eq!(repeated(&["stills are fine", "stillness is fine", "nopes"]), 1);
    }

    #[test]
    fn a_paste_with_other_lines_is_news() {
        let paste = |last: &str| format!("Traceback (most recent call last)\n  a.py\n  b.py\n  c.py\n{last}");
        let (first, same) = (paste("ValueError: x"), paste("ValueError: x"));
        assert_eq!(repeated(&[&first, &same]), 2);
        let other = "Traceback (most recent call last)\n  d.py\n  e.py\n  c.py\nKeyError: y";
        assert_eq!(repeated(&[&first, other]), 1);
    }

    #[test]
    fn pieces_without_an_answer_in_between_are_one_message() {
        let mut complaints = Complaints::default();
        for _ in 0..5 {
            complaints.on_message("error: cannot connect to the database", 0);
        }
        assert_eq!(complaints.repeated(), None);
    }
}
