//! Codex's hooks, as of 0.166.
//!
//! `PostToolUse` gives the bare output of a command: its exit code stands in the rollout only. No
//! answer ends the turn (`continue: false` at a tool is ignored), so a hold that must stop the agent
//! needs the proxy or a signal besides the refusal.

use std::borrow::Cow;

use belay_core::{SessionKey, Status, ToolKind};
use serde_json::Value;

use super::output::unwrap;
use super::{ID, kind_of};
use crate::hook::{CLAUDE, Dialect, Ending, Family, Heard, Powers, Reply, Told};

/// The dialect.
#[derive(Debug)]
pub(crate) struct Hooks;

const FAMILY: Family = Family {
    agent: ID,
    names: CLAUDE,
    kind_of: |name, input| if name == "Bash" { Some(ToolKind::Shell) } else { kind_of(name, input) },
    call_id: &["tool_use_id"],
    // A sub-agent is a thread of its own; the id names it.
    sub_agent: |_, thread| SessionKey::new(ID, thread),
    ending: how_it_ended,
    author: crate::claude_code::hook::author,
    powers: Powers { ends_turn: false, interrupts: false, tells_person: true },
};

impl Dialect for Hooks {
    fn agent(&self) -> &'static str {
        ID
    }

    fn hear(&self, told: &Told<'_>) -> Heard {
        FAMILY.hear(told)
    }

    fn answer(&self, heard: &Heard, reply: &Reply<'_>) -> Vec<u8> {
        FAMILY.answer(heard, reply)
    }
}

/// The exit code is missing from plain output, and with it whether a command failed: unknown until
/// the rollout tells.
fn how_it_ended(_: ToolKind, _: &Value, text: &str, _: bool) -> Ending {
    let output = unwrap(Cow::Borrowed(text));
    Ending { status: output.status.unwrap_or(Status::Ok), exit_code: output.exit_code }
}
