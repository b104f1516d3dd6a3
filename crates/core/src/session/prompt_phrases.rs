//! What the wording of a prompt says about it: sent by a harness to keep the agent going, or asking it to watch
//! something.

/// A person who types "continue" is brief; what a harness sends is a sentence.
const MIN_CONTINUATION_BYTES: usize = 40;

/// How harnesses begin a message that only makes the agent go on.
const CONTINUATIONS: &[&str] = &[
    "please continue working",
    "please continue with",
    "please continue the task",
    "please continue to work",
    "please keep working",
    "please keep going",
    "please proceed to the next step",
    "continue working on",
    "continue with the task",
    "continue the task",
    "continue from where you left off",
    "continue if you have next steps",
    "keep working on the task",
    "keep going until",
    "you have not finished",
    "you have not completed",
    "you must continue",
    "you should continue",
    "the task is not complete",
    "your task is not complete",
    "if you think you have solved the task",
    "if you believe the task is complete",
    "no tool call was found",
    "no tool was used",
    "you did not use a tool",
    "[error] you did not use a tool",
    "determine which next command to use",
    "determine exactly one command to use",
];

/// What a person types to make the agent go on, and nothing else.
const BARE_GO_ON: &[&str] = &[
    "continue",
    "please continue",
    "continue please",
    "go on",
    "please go on",
    "keep going",
    "carry on",
    "weiter",
    "bitte weiter",
    "weiter bitte",
    "mach weiter",
    "bitte mach weiter",
];

/// Whether a person only tells the agent to go on.
pub(super) fn is_bare_go_on(text: &str) -> bool {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_ascii_punctuation());
    BARE_GO_ON.iter().any(|phrase| text.eq_ignore_ascii_case(phrase))
}

/// Whether a prompt only makes the agent go on, as harnesses do.
pub(super) fn is_continuation(text: &str) -> bool {
    text.len() >= MIN_CONTINUATION_BYTES && CONTINUATIONS.iter().any(|start| starts_with(text, start))
}

fn starts_with(text: &str, start: &str) -> bool {
    text.as_bytes().get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
}

/// Phrases by which people ask an agent to watch something that runs, or to wait for it.
const WATCH_PHRASES: &[&str] = &[
    "keep an eye on",
    "keep watching",
    "keep checking",
    "keep polling",
    "keep monitoring",
    "watch the",
    "watch this",
    "watch it",
    "watch for",
    "watch until",
    "monitor the",
    "monitor this",
    "monitor it",
    "monitor until",
    "poll the",
    "poll it",
    "poll until",
    "poll every",
    "check every",
    "check back every",
    "check on it every",
    "wait for it to",
    "wait for the",
    "wait until",
    "wait till",
    "until it finishes",
    "until it is finished",
    "until it's done",
    "until it is done",
    "until they finish",
    "until they are done",
    "until ci is green",
    "until ci passes",
];

/// Maximum number of bytes of a prompt that are searched.
const MAX_SEARCHED_BYTES: usize = 2048;

/// Whether a prompt asks the agent to watch something, so that looking again is the task.
pub(super) fn asks_to_watch(text: &str) -> bool {
    let text = crate::excerpt::floor(text, MAX_SEARCHED_BYTES).to_ascii_lowercase();
    WATCH_PHRASES.iter().any(|phrase| text.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_harness_writes_sentences_and_a_person_is_brief() {
        assert!(is_continuation("Please continue working on the task on whatever approach you think is suitable."));
        assert!(!is_continuation("please continue"));
        assert!(!is_continuation("Please continue, but use the other parser and leave the tests alone this time"));
    }

    #[test]
    fn a_bare_go_on_has_nothing_else() {
        assert!(is_bare_go_on(" Continue.") && is_bare_go_on("weiter!"));
        assert!(!is_bare_go_on("continue with the parser") && !is_bare_go_on("c"));
    }

    #[test]
    fn a_request_to_watch_is_recognised_in_the_middle_of_a_prompt() {
        assert!(asks_to_watch("Deploy it, then keep an eye on the worker and tell me when it fails"));
        assert!(asks_to_watch("Wait until the build is green."));
        assert!(!asks_to_watch("Fix the watcher and its tests"));
    }
}
