//! What is said between calls: answers without tools, prompts that repeat, claims to be done.

use serde::{Deserialize, Serialize};

use super::call::Call;
use crate::action::ToolKind;
use crate::digest::Digest;
use crate::event::{Author, ModelAnswered, Prompt, TextFingerprint};

/// A prompt repeated word for word that is at least so long was not typed by a person: harnesses
/// repeat themselves, people who say "c" ten times do not write a paragraph ten times.
const MIN_AUTOMATED_PROMPT_BYTES: usize = 160;
/// How many prompts are remembered.
const MAX_PROMPTS: usize = 8;
/// How many answers are remembered.
const MAX_ANSWERS: usize = 12;
/// Shorter answers ("Done.", "Continuing.") say too little to be compared.
const MIN_COMPARED_BYTES: u32 = 24;
/// How many claims are remembered.
const MAX_CLAIMS: usize = 12;

/// Who is behind a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptOrigin {
    /// A person, or another agent that gives a new task.
    Person,
    /// A harness that makes the agent go on.
    Machine,
    /// News: a notification, a schedule. It asks for an answer, but says nothing about the work.
    News,
}

/// What was said lately.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dialogue {
    prompts: Vec<Digest>,
    /// Answers since the last tool call or a person's turn, newest last.
    said: Vec<TextFingerprint>,
    /// How many answers without a tool call there were since then.
    pub idle_answers: u32,
    /// Answers that were degenerate, since a person's turn.
    pub chants: u32,
    /// Claims to be done that were not accepted, since something was changed.
    refused: Vec<u64>,
    /// The latest claim, as long as nothing shows whether it was accepted.
    open: Option<u64>,
}

impl Dialogue {
    /// A prompt came. Tells who spoke.
    pub(super) fn on_prompt(&mut self, prompt: &Prompt) -> PromptOrigin {
        let text = prompt.text.as_str().trim();
        let digest = Digest::of(text);
        let repeated = self.prompts.contains(&digest);
        if !repeated {
            push(&mut self.prompts, digest, MAX_PROMPTS);
        }
        let voice = match prompt.by {
            Author::Person | Author::Agent if !(repeated && text.len() >= MIN_AUTOMATED_PROMPT_BYTES) => {
                PromptOrigin::Person
            }
            Author::System => PromptOrigin::News,
            _ => PromptOrigin::Machine,
        };
        match voice {
            PromptOrigin::Person => self.clear(),
            PromptOrigin::News => {
                self.said.clear();
                self.idle_answers = 0;
                self.open = None;
            }
            // Told to go on: the claim was not accepted.
            PromptOrigin::Machine => self.refuse(),
        }
        voice
    }

    /// What was said so far is no evidence any more.
    pub(super) fn clear(&mut self) {
        *self = Self { prompts: std::mem::take(&mut self.prompts), ..Self::default() };
    }

    /// The model answered.
    pub(super) fn on_response(&mut self, answer: &ModelAnswered) {
        if answer.auxiliary {
            return;
        }
        self.chants += u32::from(answer.chanting);
        if answer.tool_calls.is_some_and(|calls| calls > 0) {
            return;
        }
        let text = answer.text.as_str();
        let sketch = answer.said.or_else(|| (!text.is_empty()).then(|| TextFingerprint::of(text)));
        self.idle_answers = self.idle_answers.saturating_add(1);
        if let Some(sketch) = sketch.filter(|sketch| sketch.len >= MIN_COMPARED_BYTES) {
            push(&mut self.said, sketch, MAX_ANSWERS);
        }
    }

    /// A tool was called.
    pub(super) fn on_call(&mut self, call: &Call) {
        self.said.clear();
        self.idle_answers = 0;
        if call.kind == ToolKind::Finish {
            self.open = Some(call.ordinal);
        } else if !call.is_neutral() {
            // It went on working: so it was not done.
            self.refuse();
        }
    }

    /// The agent's turn ended by itself: it thinks it is done.
    pub(super) fn turn_ended(&mut self, latest_call: u64) {
        self.open = Some(latest_call);
    }

    /// Something new was changed: claims start afresh.
    pub(super) fn on_change(&mut self) {
        self.refused.clear();
    }

    fn refuse(&mut self) {
        if let Some(claim) = self.open.take() {
            push(&mut self.refused, claim, MAX_CLAIMS);
        }
    }

    /// Claims that were not accepted, and the latest one.
    pub fn unaccepted_claims(&self) -> Vec<u64> {
        self.refused.iter().copied().chain(self.open).collect()
    }

    /// How many of the last answers are like the newest one, itself included.
    pub fn similar_in_a_row(&self, similarity: f32) -> u32 {
        let Some((newest, before)) = self.said.split_last() else { return 0 };
        let alike = before.iter().rev().filter(|said| newest.similarity(said) >= similarity).count();
        u32::try_from(alike + 1).unwrap_or(u32::MAX)
    }

    /// Digest of the newest answer.
    pub fn newest(&self) -> Digest {
        self.said.last().map_or(Digest(0), |said| said.digest)
    }
}

fn push<T>(list: &mut Vec<T>, item: T, kept: usize) {
    if list.len() == kept {
        list.remove(0);
    }
    list.push(item);
}
