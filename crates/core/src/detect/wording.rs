//! Making sentences: what happened, why we think so, what to do next.

use std::fmt::Write;

use super::CallContext;

/// How everything begins that an agent reads from us.
pub(crate) const MESSAGE_PREFIX: &str = "Belay: ";

/// How one claim is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wording {
    /// What repeated, how often, what stayed the same.
    pub sentence: String,
    /// What stayed the same, in a few redacted words.
    pub unchanged: String,
    /// What would have counted as progress.
    pub progress: &'static str,
    /// Two or three concrete things to try.
    pub tips: &'static [&'static str],
    /// What a custom pattern says instead.
    pub own: Option<String>,
}

impl Wording {
    /// What the agent reads.
    pub fn nudge_text(&self) -> String {
        if let Some(own) = &self.own {
            return format!("{MESSAGE_PREFIX}{own}");
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

    /// What a person reads.
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

/// "$1.25".
pub(crate) fn dollars(micros: u64) -> String {
    format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
}

/// 950, 12.3k, 4.5M, 1.9G
pub fn tokens(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{:.1}k", number as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1}M", number as f64 / 1e6),
        _ => format!("{:.1}G", number as f64 / 1e9),
    }
}

/// "12 minutes".
pub(crate) fn minutes(millis: u64) -> String {
    match millis / 60_000 {
        0 => format!("{} seconds", millis / 1_000),
        1 => "1 minute".to_owned(),
        n => format!("{n} minutes"),
    }
}

/// The call in focus, quoted.
pub(crate) fn describe_call(view: &CallContext<'_>) -> String {
    match view.call() {
        Some(call) if !call.what.is_empty() => format!("`{}`.", call.what),
        Some(_) | None => "a call without readable input.".to_owned(),
    }
}

/// What the call in focus led to, in a few words.
pub(crate) fn describe_outcome(view: &CallContext<'_>) -> String {
    // A call that was only asked for is told with the answer it had before.
    let answered = || view.repeats().and_then(|repeats| repeats.answered.answer.as_ref());
    match view.call().and_then(|call| call.answer.as_ref()).or_else(answered) {
        Some(answer) if answer.brief.is_empty() => "no output".to_owned(),
        Some(answer) => answer.brief.to_string(),
        None => "no answer".to_owned(),
    }
}
