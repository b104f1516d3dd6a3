//! The family's event names and the moments they stand for.

use crate::hook::HookPoint;

/// Which events an agent has: (its name, our name for the same, the moment).
#[derive(Debug)]
pub(crate) struct EventNames(pub(crate) &'static [(&'static str, &'static str, HookPoint)]);

/// Claude Code's own.
pub(crate) const CLAUDE_EVENTS: &EventNames = &EventNames(&[
    ("SessionStart", "SessionStart", HookPoint::SessionStart),
    ("SessionEnd", "SessionEnd", HookPoint::SessionEnd),
    ("UserPromptSubmit", "UserPromptSubmit", HookPoint::Prompt),
    ("PreToolUse", "PreToolUse", HookPoint::BeforeTool),
    ("PermissionRequest", "PermissionRequest", HookPoint::Permission),
    ("PostToolUse", "PostToolUse", HookPoint::AfterTool),
    ("PostToolUseFailure", "PostToolUseFailure", HookPoint::AfterTool),
    ("PostToolBatch", "PostToolBatch", HookPoint::AfterBatch),
    ("Notification", "Notification", HookPoint::Informational),
    ("Stop", "Stop", HookPoint::TurnEnd),
    ("StopFailure", "StopFailure", HookPoint::Informational),
    ("SubagentStart", "SubagentStart", HookPoint::Informational),
    ("SubagentStop", "SubagentStop", HookPoint::Informational),
    ("PreCompact", "PreCompact", HookPoint::Informational),
    ("Interrupt", "Interrupt", HookPoint::Informational),
]);

impl EventNames {
    /// Whether there is an event for a permission that a person is asked for.
    pub(crate) fn tells_permissions(&self) -> bool {
        self.0.iter().any(|(_, ours, _)| *ours == "PermissionRequest")
    }

    /// Our name for an event and its moment.
    pub(crate) fn find(&self, name: &str) -> Option<(&'static str, HookPoint)> {
        self.0.iter().find(|(theirs, ..)| *theirs == name).map(|(_, ours, moment)| (*ours, *moment))
    }
}
