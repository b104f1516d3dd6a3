//! The status of a tool call, from its result.

use belay_core::{CallStatus, ToolKind};

/// Results that mean a denial by a person or a policy.
const REFUSAL_TEXTS: &[&str] = &[
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    "[Request interrupted by user for tool use]",
    "Permission to use ",
    "Permission for this action has been denied",
    "Claude requested permissions to ",
    "This command requires approval",
    "PreToolUse:",
    "Hook PreToolUse",
];

/// The status that a result states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallEnding {
    pub(crate) status: CallStatus,
    pub(crate) exit_code: Option<i32>,
}

/// `flagged` is the result's `is_error`, which most results lack; `denied` is set if the line names a denial.
pub(crate) fn ending(kind: Option<ToolKind>, text: &str, flagged: bool, denied: bool) -> CallEnding {
    let inner = text.strip_prefix("<tool_use_error>").unwrap_or(text);
    if denied || flagged && REFUSAL_TEXTS.iter().any(|refusal| inner.starts_with(refusal)) {
        return CallEnding { status: CallStatus::Refused, exit_code: None };
    }
    if flagged || inner.len() != text.len() {
        let exit_code = exit_code(inner);
        let timed_out = inner.starts_with("Command timed out") || inner.contains("\nCommand timed out after ");
        return CallEnding { status: if timed_out { CallStatus::TimedOut } else { CallStatus::Error }, exit_code };
    }
    if kind == Some(ToolKind::Shell) {
        if text.starts_with("Command running in background with ID") {
            return CallEnding { status: CallStatus::Running, exit_code: None };
        }
        // A failed command is always flagged.
        return CallEnding { status: CallStatus::Ok, exit_code: Some(0) };
    }
    CallEnding { status: CallStatus::Ok, exit_code: None }
}

/// `Exit code N` on the first line.
fn exit_code(text: &str) -> Option<i32> {
    let text = text.strip_prefix("Error: ").unwrap_or(text);
    let rest = text.strip_prefix("Exit code ")?;
    rest[..rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len())].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_command_carries_its_exit_code() {
        let failed = ending(Some(ToolKind::Shell), "Exit code 3\nrunning", true, false);
        assert_eq!(failed, CallEnding { status: CallStatus::Error, exit_code: Some(3) });
        let fine = ending(Some(ToolKind::Shell), "fine", false, false);
        assert_eq!(fine, CallEnding { status: CallStatus::Ok, exit_code: Some(0) });
        let text = "Exit code 143\nCommand timed out after 2m 0.0s";
        assert_eq!(ending(Some(ToolKind::Shell), text, true, false).status, CallStatus::TimedOut);
    }

    #[test]
    fn a_file_that_mentions_an_error_was_still_read() {
        assert_eq!(ending(Some(ToolKind::Read), "Exit code 3", false, false), CallEnding::default());
    }

    #[test]
    fn refusals_are_no_errors() {
        let text = "The user doesn't want to proceed with this tool use. The tool use was rejected";
        assert_eq!(ending(Some(ToolKind::Edit), text, true, false).status, CallStatus::Refused);
        assert_eq!(ending(Some(ToolKind::Edit), "no", true, true).status, CallStatus::Refused);
        let text = "<tool_use_error>String to replace not found in file.</tool_use_error>";
        assert_eq!(ending(Some(ToolKind::Edit), text, true, false).status, CallStatus::Error);
    }

    #[test]
    fn a_background_command_neither_failed_nor_ended() {
        let text = "Command running in background with ID: b1. Output is being written to: /tmp/x";
        assert_eq!(ending(Some(ToolKind::Shell), text, false, false).status, CallStatus::Running);
    }
}
