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
use crate::hook::{CLAUDE, Dialect, Ending, Family, Heard, Moment, Powers, Program, Reply, Told};
use crate::transcript::Format;

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
    sub_agent_file: |file, _| Some(file.to_owned()),
    ending: how_it_ended,
    author: crate::claude_code::hook::author,
    powers: Powers { ends_turn: false, interrupts: false, tells_person: true },
    transcript: &super::transcript::Transcript,
};

impl Dialect for Hooks {
    fn agent(&self) -> &'static str {
        ID
    }

    fn understand(&self, told: &Told<'_>) -> Option<Heard> {
        FAMILY.understand(told)
    }

    fn compose(&self, heard: &Heard, reply: &Reply<'_>) -> Option<Value> {
        FAMILY.compose(heard, reply)
    }

    fn interrupt(&self, heard: &Heard, reply: &Reply<'_>) -> Option<Program> {
        let held = heard.moment == Moment::BeforeTool && reply.hold().is_some();
        held.then_some(Program { name: "codex", headless: "exec" })
    }

    fn exit_code(&self, line: &str) -> Option<(String, i32)> {
        if !line.contains("\"CommandExecution\"") {
            return None;
        }
        let line: Value = serde_json::from_str(line).ok()?;
        let item = line.pointer("/payload/item").filter(|item| item["type"] == "CommandExecution")?;
        let code = i32::try_from(item.get("exit_code")?.as_i64()?).ok()?;
        Some((item.get("id")?.as_str()?.to_owned(), code))
    }

    fn transcript(&self) -> Option<&'static dyn Format> {
        FAMILY.transcript()
    }
}

/// The exit code is missing from plain output, and with it whether a command failed: unknown until
/// the rollout tells.
fn how_it_ended(_: ToolKind, _: &Value, text: &str, _: bool) -> Ending {
    let output = unwrap(Cow::Borrowed(text));
    Ending { status: output.status.unwrap_or(Status::Ok), exit_code: output.exit_code }
}
