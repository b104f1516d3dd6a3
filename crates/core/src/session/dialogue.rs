//! Prompts and responses between calls: responses without tools, repeated prompts, completion claims.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::call::Call;
use super::prompt_phrases;
use crate::action::ToolKind;
use crate::digest::Digest;
use crate::event::{Author, ModelAnswered, Prompt, TextFingerprint};
use crate::time::Timestamp;

/// Repeated prompts of at least this length come from a harness: people repeat "c", but not a paragraph.
const MIN_AUTOMATED_PROMPT_BYTES: usize = 100;
/// A prompt that follows the response faster than this was not typed. A person may have queued it, so it counts as
/// automatic only if it is the same again. Some transcripts give all events the same time, which says nothing.
const AUTOMATED_DELAY: Range<Duration> = Duration::from_millis(1)..Duration::from_secs(1);
const MAX_RESPONSES: usize = 12;
/// Shorter responses ("Done.", "Continuing.") carry too little text to compare.
const MIN_COMPARED_BYTES: u32 = 24;
const MAX_CLAIMS: usize = 12;

/// Origin of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptOrigin {
    /// A person, or another agent that assigns a new task.
    Person,
    /// A harness that makes the agent continue.
    Harness,
    /// A person who only tells the agent to go on. It says nothing new, and refuses nothing.
    GoOn,
    /// A notification or a schedule. It expects a response but is not about the work.
    Notification,
}

/// Recent prompts and responses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dialogue {
    /// The latest prompt.
    last_prompt: Digest,
    /// When the model last responded or ended its turn.
    #[serde(default)]
    responded_at: Timestamp,
    /// Responses since the last tool call or prompt by a person, newest last.
    responses: Vec<TextFingerprint>,
    /// Number of responses without a tool call since then.
    pub idle_responses: u32,
    /// How many of the last of them said nothing new.
    #[serde(default)]
    pub unchanged_responses: u32,
    /// Degenerate responses since the last prompt by a person.
    pub degenerate_responses: u32,
    /// Completion claims that were not accepted since the last change.
    rejected_claims: Vec<u64>,
    /// The text in which the latest claim was refused, and all claims in a row that were refused in this text. Changes do
    /// not end the row: a proof that nobody asked for does not answer the refusal.
    #[serde(default)]
    refusal: Digest,
    #[serde(default)]
    refused_claims: Vec<u64>,
    /// The latest claim, until it is accepted or rejected.
    open_claim: Option<u64>,
    /// The last prompt by a person asks to watch something or to wait for it.
    #[serde(default)]
    pub watching: bool,
    /// Number of prompts by a person.
    #[serde(default)]
    pub person_prompts: u64,
    /// The latest response was none: the model call failed.
    #[serde(default)]
    failed_response: bool,
}

impl Dialogue {
    /// Records a prompt and returns its origin.
    pub(super) fn on_prompt(&mut self, prompt: &Prompt, at: Timestamp) -> PromptOrigin {
        let text = prompt.text.as_str().trim();
        let digest = Digest::from_bytes(text);
        // A harness sends its text again at once; a person may repeat a request after others.
        let repeated = std::mem::replace(&mut self.last_prompt, digest) == digest;
        let at_once = at.is_known()
            && self.responded_at.is_known()
            && AUTOMATED_DELAY.contains(&at.saturating_since(self.responded_at));
        let automated = repeated && (at_once || text.len() >= MIN_AUTOMATED_PROMPT_BYTES);
        let origin = match prompt.by {
            Author::Person | Author::Agent if prompt_phrases::is_continuation(text) => PromptOrigin::Harness,
            Author::Person if prompt_phrases::is_bare_go_on(text) => PromptOrigin::GoOn,
            Author::Person | Author::Agent if !automated => PromptOrigin::Person,
            Author::System => PromptOrigin::Notification,
            _ => PromptOrigin::Harness,
        };
        match origin {
            PromptOrigin::Person => {
                self.clear();
                self.watching = prompt_phrases::asks_to_watch(text);
                self.person_prompts += 1;
            }
            PromptOrigin::Notification => {
                self.responses.clear();
                self.idle_responses = 0;
                self.unchanged_responses = 0;
                self.open_claim = None;
            }
            PromptOrigin::GoOn => self.open_claim = None,
            // A request to continue rejects the claim.
            PromptOrigin::Harness => self.reject_claim(),
        }
        origin
    }

    /// Discards everything but the prompts.
    pub(super) fn clear(&mut self) {
        *self = Self {
            last_prompt: self.last_prompt,
            responded_at: self.responded_at,
            watching: self.watching,
            person_prompts: self.person_prompts,
            ..Self::default()
        };
    }

    pub(super) fn on_response(&mut self, answer: &ModelAnswered, says_nothing_new: bool, at: Timestamp) {
        if answer.auxiliary {
            return;
        }
        self.responded_at = at;
        self.failed_response = is_outage(answer);
        if self.failed_response {
            return;
        }
        self.degenerate_responses += u32::from(answer.degenerate);
        if answer.tool_calls.is_some_and(|calls| calls > 0) {
            return;
        }
        let text = answer.text.as_str();
        let fingerprint = answer.said.or_else(|| (!text.is_empty()).then(|| TextFingerprint::from_text(text)));
        self.idle_responses = self.idle_responses.saturating_add(1);
        self.unchanged_responses = if says_nothing_new { self.unchanged_responses.saturating_add(1) } else { 0 };
        if let Some(fingerprint) = fingerprint.filter(|fingerprint| fingerprint.len >= MIN_COMPARED_BYTES) {
            push(&mut self.responses, fingerprint, MAX_RESPONSES);
        }
    }

    pub(super) fn on_call(&mut self, call: &Call) {
        self.responses.clear();
        self.idle_responses = 0;
        self.unchanged_responses = 0;
        if call.kind == ToolKind::Finish {
            self.open_claim = Some(call.ordinal);
        } else if !call.is_neutral() {
            // Further work means that it was not done.
            self.reject_claim();
        }
    }

    /// An agent that ends its turn claims to be done.
    pub(super) fn turn_ended(&mut self, latest_call: u64, at: Timestamp) {
        self.responded_at = at;
        // After a failed model call it claims nothing.
        if !std::mem::take(&mut self.failed_response) {
            self.open_claim = Some(latest_call);
        }
    }

    /// A claim was refused in this text.
    pub(super) fn claim_refused(&mut self, call: u64, text: Digest) {
        if std::mem::replace(&mut self.refusal, text) != text {
            self.refused_claims.clear();
        }
        push(&mut self.refused_claims, call, MAX_CLAIMS);
    }

    /// A new change makes earlier claims irrelevant.
    pub(super) fn on_change(&mut self) {
        self.rejected_claims.clear();
    }

    fn reject_claim(&mut self) {
        if let Some(claim) = self.open_claim.take() {
            push(&mut self.rejected_claims, claim, MAX_CLAIMS);
        }
    }

    /// Rejected claims and the latest one.
    pub fn unaccepted_claims(&self) -> Vec<u64> {
        self.rejected_claims.iter().copied().chain(self.open_claim).collect()
    }

    /// Claims that were refused in the same text, and the latest one, whatever was changed in between.
    pub fn claims_refused_alike(&self) -> Vec<u64> {
        let open = self.open_claim.filter(|claim| self.refused_claims.last().is_some_and(|last| last < claim));
        self.refused_claims.iter().copied().chain(open).collect()
    }

    /// How many of the last responses are similar to the newest, including itself.
    pub fn similar_in_a_row(&self, similarity: f32) -> u32 {
        let Some((newest, before)) = self.responses.split_last() else { return 0 };
        let similar = before.iter().rev().filter(|response| newest.similarity(response) >= similarity).count();
        u32::try_from(similar + 1).unwrap_or(u32::MAX)
    }

    /// Digest of the newest response.
    pub fn newest(&self) -> Digest {
        self.responses.last().map_or(Digest(0), |response| response.digest)
    }
}

/// Whether a response is none: empty, or cut off because the model call failed.
pub(super) fn is_outage(answer: &ModelAnswered) -> bool {
    let calls = answer.tool_calls.unwrap_or(0) > 0;
    let empty = answer.text.as_str().trim().is_empty() && answer.said.is_none_or(|said| said.len == 0);
    !calls && empty || answer.stop.as_deref().is_some_and(|stop| matches!(stop, "error" | "aborted"))
}

fn push<T>(list: &mut Vec<T>, item: T, capacity: usize) {
    if list.len() == capacity {
        list.remove(0);
    }
    list.push(item);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::excerpt::Excerpt;

    /// The origin of a prompt that follows a response after so many milliseconds.
    fn origin(dialogue: &mut Dialogue, text: &str, delay: i64) -> PromptOrigin {
        dialogue.turn_ended(0, Timestamp::from_millis(10_000));
        let prompt = Prompt { by: Author::Person, text: Excerpt::new(text) };
        dialogue.on_prompt(&prompt, Timestamp::from_millis(10_000 + delay))
    }

    #[test]
    fn the_same_prompt_at_once_is_automatic_in_any_language() {
        let mut dialogue = Dialogue::default();
        assert_eq!(origin(&mut dialogue, "bitte noch einmal", 30), PromptOrigin::Person, "it may have been queued");
        assert_eq!(origin(&mut dialogue, "bitte noch einmal", 30), PromptOrigin::Harness);
        assert_eq!(origin(&mut dialogue, "bitte noch einmal", 4_000), PromptOrigin::Person, "typed again");
        assert_eq!(origin(&mut dialogue, "bitte noch einmal", 0), PromptOrigin::Person, "no time is known");
    }
}
