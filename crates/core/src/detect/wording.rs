//! Text of findings: what happened, the evidence, what to do next.

use std::fmt::Write;

use super::CallContext;

/// Prefix of every message to an agent.
pub(crate) const MESSAGE_PREFIX: &str = "Belay: ";

/// The text of one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wording {
    /// What repeated, how often, what stayed the same.
    pub sentence: String,
    /// What stayed the same, in short and redacted.
    pub unchanged: String,
    /// What would have counted as progress.
    pub progress: &'static str,
    /// Two or three concrete suggestions.
    pub tips: &'static [&'static str],
    /// Message of a custom pattern; replaces the rest.
    pub custom_message: Option<String>,
}

/// The attempts that Belay denied, if any.
pub(crate) fn denied_sentence(denied: u32) -> String {
    match denied {
        0 => String::new(),
        1 => " Belay denied one more attempt.".to_owned(),
        n => format!(" Belay denied {n} more attempts."),
    }
}

impl Wording {
    /// Message to the agent.
    pub fn nudge_text(&self) -> String {
        if let Some(message) = &self.custom_message {
            return format!("{MESSAGE_PREFIX}{message}");
        }
        let mut text = format!("{MESSAGE_PREFIX}{}", self.sentence);
        if !self.unchanged.is_empty() {
            let _ = write!(text, "\nUnchanged: {}", self.unchanged);
        }
        text.push_str("\nTry instead:");
        for tip in self.tips {
            let _ = write!(text, "\n- {tip}");
        }
        text
    }

    /// Message to a person.
    pub fn pause_text(&self) -> String {
        let mut text = self.sentence.clone();
        if !self.unchanged.is_empty() {
            let _ = write!(text, " Unchanged: {}.", self.unchanged.trim_end_matches('.'));
        }
        let _ = write!(text, " Progress would have been {}.", self.progress);
        text
    }
}

/// "3 times".
pub(crate) fn count_phrase(count: u32) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}

/// The current call, quoted.
pub(crate) fn describe_call(context: &CallContext<'_>) -> String {
    match context.call() {
        Some(call) if !call.what.is_empty() => format!("`{}`.", call.what),
        Some(_) | None => "a call without readable input.".to_owned(),
    }
}

/// The current call's result, in short.
pub(crate) fn describe_outcome(context: &CallContext<'_>) -> String {
    // A call without a result is described by the previous one.
    let answered = || context.repeats().and_then(|repeats| repeats.latest.result.as_ref());
    match context.call().and_then(|call| call.result.as_ref()).or_else(answered) {
        Some(answer) if answer.summary.is_empty() => "no output".to_owned(),
        Some(answer) => answer.summary.to_string(),
        None => "no result".to_owned(),
    }
}
