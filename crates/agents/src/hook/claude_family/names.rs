//! The family's event names and the moments they stand for.

use crate::hook::Moment;

/// Which events an agent has: (its name, our name for the same, the moment).
#[derive(Debug)]
pub(crate) struct Names(pub(crate) &'static [(&'static str, &'static str, Moment)]);

/// Claude Code's own.
pub(crate) const CLAUDE: &Names = &Names(&[
    ("SessionStart", "SessionStart", Moment::SessionStart),
    ("SessionEnd", "SessionEnd", Moment::SessionEnd),
    ("UserPromptSubmit", "UserPromptSubmit", Moment::Prompt),
    ("PreToolUse", "PreToolUse", Moment::BeforeTool),
    ("PermissionRequest", "PermissionRequest", Moment::Permission),
    ("PostToolUse", "PostToolUse", Moment::AfterTool),
    ("PostToolUseFailure", "PostToolUseFailure", Moment::AfterTool),
    ("PostToolBatch", "PostToolBatch", Moment::AfterBatch),
    ("Notification", "Notification", Moment::Aside),
    ("Stop", "Stop", Moment::TurnEnd),
    ("StopFailure", "StopFailure", Moment::Aside),
    ("SubagentStart", "SubagentStart", Moment::Aside),
    ("SubagentStop", "SubagentStop", Moment::Aside),
    ("PreCompact", "PreCompact", Moment::Aside),
    ("Interrupt", "Interrupt", Moment::Aside),
]);

impl Names {
    /// Whether there is an event for a permission that a person is asked for.
    pub(crate) fn tells_permissions(&self) -> bool {
        self.0.iter().any(|(_, ours, _)| *ours == "PermissionRequest")
    }

    /// Our name for an event and its moment.
    pub(crate) fn find(&self, name: &str) -> Option<(&'static str, Moment)> {
        self.0.iter().find(|(theirs, ..)| *theirs == name).map(|(_, ours, moment)| (*ours, *moment))
    }
}
