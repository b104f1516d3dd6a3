//! Claude Code's hooks, as of 2.1.325.
//!
//! A command that fails fires `PostToolUseFailure`, not `PostToolUse`. A call that fails validation
//! (an edit whose text is not found) fires neither, nor `PreToolUse`: only `PostToolBatch` tells of
//! it, and what is said there reaches the model. `deny` together with `continue: false` is the
//! hardest stop: the tool does not run and no further model request leaves.

use belay_core::event::Author;
use belay_core::{Status, ToolKind};
use serde_json::Value;

use super::transcript::author::{Marks, Said, said};
use super::transcript::result::ending;
use super::{ID, kind_of, sub_agent_key};
use crate::hook::{CLAUDE, Ending, Family, Powers};

/// The dialect.
pub(crate) static HOOKS: Family = Family {
    agent: ID,
    names: CLAUDE,
    kind_of: |name, _| kind_of(name),
    call_id: &["tool_use_id"],
    sub_agent: sub_agent_key,
    sub_agent_file,
    ending: how_it_ended,
    author,
    powers: Powers { ends_turn: true, interrupts: true, tells_person: false },
    transcript: &super::transcript::Transcript,
};

/// Hooks of a sub-agent name the file of the session it belongs to; its own lies beside that.
fn sub_agent_file(file: &str, agent: &str) -> Option<String> {
    let plain = agent.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let folder = file.strip_suffix(".jsonl").filter(|_| plain)?;
    Some(format!("{folder}/subagents/agent-{agent}.jsonl"))
}

fn how_it_ended(kind: ToolKind, response: &Value, text: &str, failed: bool) -> Ending {
    let says = |field: &str| response.get(field).is_some_and(|value| *value != Value::Null && *value != false);
    if says("backgroundTaskId") {
        return Ending { status: Status::Running, exit_code: None };
    }
    if says("interrupted") {
        return Ending { status: Status::TimedOut, exit_code: None };
    }
    ending(Some(kind), text, failed, false)
}

/// Who wrote a prompt.
pub(crate) fn author(prompt: &str) -> Option<Author> {
    match said(prompt, Marks::default()) {
        Said::By(author) => Some(author),
        Said::Summary | Said::Interrupted | Said::Noise => Some(Author::System),
    }
}
