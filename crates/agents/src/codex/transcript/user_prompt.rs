//! Classifies `user` messages by author and detects prompts that another line repeats.

use belay_core::event::Author;

/// Kind of a user message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserText {
    /// A prompt.
    By(Author),
    /// Context that Codex adds.
    Noise,
}

const TEXT_PREFIXES: &[(&str, UserText)] = &[
    ("# AGENTS.md instructions", UserText::Noise),
    ("<user_instructions>", UserText::Noise),
    ("<INSTRUCTIONS>", UserText::Noise),
    ("<environment_context>", UserText::Noise),
    ("<turn_aborted>", UserText::Noise),
    ("<skill", UserText::Noise),
    ("<permissions", UserText::Noise),
    ("<collaboration_mode>", UserText::Noise),
    ("<model_switch>", UserText::Noise),
    ("<user_shell_command>", UserText::By(Author::Person)),
    ("<subagent_notification>", UserText::By(Author::System)),
    ("<hook_prompt", UserText::By(Author::Continuation)),
    ("Another language model started to solve this problem", UserText::Noise),
];

pub(crate) fn classify_user_text(text: &str) -> UserText {
    let text = text.trim_start();
    if text.is_empty() {
        return UserText::Noise;
    }
    let known = TEXT_PREFIXES.iter().find(|(beginning, _)| text.starts_with(beginning));
    known.map_or(UserText::By(Author::Person), |(_, said)| *said)
}

/// The author in a sub-agent's thread, where all prompts come from the parent.
pub(super) fn in_sub_agent(by: Author) -> Author {
    if by == Author::Person { Author::Agent } else { by }
}

/// The thread whose end a notification reports.
pub(super) fn ended_sub_agent(text: &str) -> Option<String> {
    let inner = text.trim().strip_prefix("<subagent_notification>")?;
    let inner: serde_json::Value = serde_json::from_str(inner.strip_suffix("</subagent_notification>")?.trim()).ok()?;
    let status = inner.get("status")?.as_object()?;
    let over = ["completed", "errored", "shutdown", "failed"].iter().any(|word| status.contains_key(*word));
    inner.get("agent_path")?.as_str().filter(|_| over).map(str::to_owned)
}

/// The last prompt before the next model output. Some versions write each prompt twice, as part of the conversation and
/// as an event, in either order.
#[derive(Debug, Default)]
pub(super) struct LastPrompt(Option<String>);

impl LastPrompt {
    /// Whether this repeats the last prompt; records it if not.
    pub(super) fn is_repeat(&mut self, text: &str) -> bool {
        const MAX_COMPARED_BYTES: usize = 512;
        let text = text.trim();
        let text = &text[..text.floor_char_boundary(MAX_COMPARED_BYTES)];
        if let Some(before) = &self.0
            && (before.contains(text) || text.contains(before.as_str()))
        {
            return true;
        }
        self.0 = Some(text.to_owned());
        false
    }

    pub(super) fn forget(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_is_told_from_prompts() {
        assert_eq!(classify_user_text("Fix the tests"), UserText::By(Author::Person));
        assert_eq!(classify_user_text("<environment_context>\n<cwd>/a</cwd>"), UserText::Noise);
        assert_eq!(classify_user_text("# AGENTS.md instructions for /a\n\n<INSTRUCTIONS>"), UserText::Noise);
        assert_eq!(
            classify_user_text("<hook_prompt hook_run_id=\"1\">go on</hook_prompt>"),
            UserText::By(Author::Continuation)
        );
    }

    #[test]
    fn a_prompt_written_twice_is_heard_once() {
        let mut last_prompt = LastPrompt::default();
        assert!(!last_prompt.is_repeat("Fix the tests"));
        assert!(last_prompt.is_repeat("Fix the tests\n"));
        assert!(last_prompt.is_repeat("# Context from my IDE setup:\n\n## My request for Codex:\nFix the tests"));
        assert!(!last_prompt.is_repeat("And the docs"));
        last_prompt.forget();
        assert!(!last_prompt.is_repeat("And the docs"), "after the model spoke it is a new prompt");
    }

    #[test]
    fn only_a_finished_sub_agent_has_ended() {
        let note = |status: &str| {
            format!("<subagent_notification>\n{{\"agent_path\":\"t1\",\"status\":{status}}}\n</subagent_notification>")
        };
        assert_eq!(ended_sub_agent(&note("{\"completed\":\"done\"}")).as_deref(), Some("t1"));
        assert_eq!(ended_sub_agent(&note("\"running\"")), None);
    }
}
