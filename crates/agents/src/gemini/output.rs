//! Unwraps the output of tools. The report around it has process ids, which differ on every call.

use std::borrow::Cow;

use belay_core::event::{ChangeKind, FileChanged};
use belay_core::{CallStatus, Digest, ToolKind};

/// An unwrapped output.
#[derive(Debug, PartialEq)]
pub(crate) struct UnwrappedOutput<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) status: CallStatus,
    pub(crate) exit_code: Option<i32>,
}

/// `status` is the call's status in the transcript (`success`, `error`, `cancelled`).
pub(crate) fn unwrap<'a>(kind: Option<ToolKind>, said: &str, text: &'a str) -> UnwrappedOutput<'a> {
    let text = text.trim();
    let text = text.strip_prefix("<untrusted_context>").unwrap_or(text);
    let text = text.strip_suffix("</untrusted_context>").unwrap_or(text).trim();
    let status = match said {
        "cancelled" => CallStatus::Refused,
        "error" => CallStatus::Error,
        _ => CallStatus::Ok,
    };
    if kind != Some(ToolKind::Shell) {
        return UnwrappedOutput { text: Cow::Borrowed(text), status, exit_code: None };
    }
    let mut exit_code = None;
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let word = line.trim_end();
        if let Some(code) = word.strip_prefix("Exit Code: ") {
            exit_code = code.parse().ok().or(exit_code);
        }
        let volatile = ["Process Group PGID:", "Background PIDs:"].iter().any(|mark| word.starts_with(mark));
        let empty = matches!(word, "Error: (none)" | "Signal: (none)" | "Exit Code: (none)");
        if !volatile && !empty {
            kept.push_str(line);
        }
    }
    // Newer versions report only a non-zero exit code.
    let ran = kept.contains("Output:");
    let exit_code = exit_code.or((status == CallStatus::Ok && ran).then_some(0));
    let status = match exit_code {
        Some(code) if code != 0 && status == CallStatus::Ok => CallStatus::Error,
        _ if text.starts_with("Command timed out") => CallStatus::TimedOut,
        _ => status,
    };
    UnwrappedOutput { text: Cow::Owned(kept), status, exit_code }
}

/// The change of a file, from its content before and after. A file without previous content is new.
pub(crate) fn written_file(path: &str, before: Option<&str>, after: &str, call: Option<String>) -> FileChanged {
    let before = before.filter(|content| !content.is_empty());
    FileChanged {
        path: path.to_owned(),
        change: if before.is_some() { ChangeKind::Modified } else { ChangeKind::Created },
        before: before.map(Digest::from_bytes),
        after: Some(Digest::from_bytes(after)),
        added: None,
        removed: None,
        call,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_ids_do_not_make_outputs_differ() {
        let of = |pid: u32| {
            format!(
                "<untrusted_context>\nOutput: running\nExit Code: 3\nProcess Group PGID: {pid}\n</untrusted_context>"
            )
        };
        let (one, two) = (of(1), of(2));
        let one = unwrap(Some(ToolKind::Shell), "success", &one);
        assert_eq!(one, unwrap(Some(ToolKind::Shell), "success", &two));
        assert_eq!((one.status, one.exit_code), (CallStatus::Error, Some(3)));
    }

    #[test]
    fn a_command_that_mentions_no_code_ended_well() {
        let fine = unwrap(Some(ToolKind::Shell), "success", "Output: fine\nProcess Group PGID: 7");
        assert_eq!((fine.status, fine.exit_code), (CallStatus::Ok, Some(0)));
        assert_eq!(unwrap(Some(ToolKind::Shell), "cancelled", "no").status, CallStatus::Refused);
        assert_eq!(unwrap(Some(ToolKind::Read), "success", "Exit Code: 3").status, CallStatus::Ok);
    }
}
