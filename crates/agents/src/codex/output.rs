//! Unwraps the output of tools. The header that Codex adds has chunk ids and wall times, which differ on every call, so no
//! two outputs would ever be equal.

use std::borrow::Cow;

use belay_core::CallStatus;
use serde::Deserialize;

/// An unwrapped output.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct UnwrappedOutput<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) status: Option<CallStatus>,
    pub(super) exit_code: Option<i32>,
    pub(super) duration_ms: Option<u64>,
}

/// Outputs that mean a denial by a person or a policy, or an interruption.
const REFUSAL_TEXTS: &[&str] = &[
    "aborted by user",
    "Command blocked by ",
    "command rejected",
    "exec_command failed: rejected",
    "execution error: Rejected",
    "patch rejected",
    "rejected by user",
    "user cancelled MCP tool call",
];

/// Outputs that mean a failure of the tool itself.
const FAILURE_TEXTS: &[&str] = &[
    "apply_patch verification failed",
    "error: ",
    "exec_command failed",
    "execution error",
    "failed in sandbox",
    "failed to ",
    "tool call error",
    "unknown process id",
    "unsupported call",
    "write_stdin failed",
];

/// Unwraps an output in any of the known formats.
pub(super) fn unwrap(text: Cow<'_, str>) -> UnwrappedOutput<'_> {
    if text.starts_with("{\"output\"")
        && let Ok(wrapped) = serde_json::from_str::<OutputEnvelope>(&text)
    {
        let seconds = wrapped.metadata.duration_seconds.filter(|seconds| *seconds >= 0.0);
        return with_status(UnwrappedOutput {
            text: Cow::Owned(wrapped.output),
            exit_code: wrapped.metadata.exit_code,
            duration_ms: seconds.map(|seconds| (seconds * 1e3) as u64),
            status: None,
        });
    }
    match headers(&text) {
        Some((mut output, body)) => {
            output.text = match text {
                Cow::Borrowed(text) => Cow::Borrowed(&text[body..]),
                Cow::Owned(mut text) => Cow::Owned(text.split_off(body)),
            };
            with_status(output)
        }
        None => with_status(UnwrappedOutput { text, ..UnwrappedOutput::default() }),
    }
}

/// Parses the lines before `Output:`. Returns the offset of the body.
fn headers(text: &str) -> Option<(UnwrappedOutput<'static>, usize)> {
    const HEADER_LINES: &[&str] = &[
        "Chunk ID: ",
        "Wall time: ",
        "Exit code: ",
        "Process ",
        "Script completed\n",
        "Script failed\n",
        "Script running ",
    ];
    if !HEADER_LINES.iter().any(|first| text.starts_with(first)) {
        return None;
    }
    let mut output = UnwrappedOutput::default();
    let mut at = 0;
    // The header has few lines; an `Output:` further down belongs to the body.
    for line in text.split_inclusive('\n').take(8) {
        at += line.len();
        let line = line.trim_end();
        if line == "Output:" {
            return Some((output, at));
        }
        if let Some(code) = line.strip_prefix("Exit code: ").or(line.strip_prefix("Process exited with code ")) {
            output.exit_code = code.trim().parse().ok();
        } else if line.starts_with("Process running with session ID") || line.starts_with("Script running") {
            output.status = Some(CallStatus::Running);
        } else if line == "Script failed" {
            output.status = Some(CallStatus::Error);
        } else if let Some(wall) = line.strip_prefix("Wall time: ").or(line.strip_prefix("Wall time ")) {
            let seconds = wall.split_whitespace().next().and_then(|number| number.parse::<f64>().ok());
            output.duration_ms = seconds.filter(|seconds| *seconds >= 0.0).map(|seconds| (seconds * 1e3) as u64);
        }
    }
    // In some versions, a command without output has no `Output:` line.
    (output.exit_code.is_some() || output.status.is_some()).then_some((output, at))
}

fn with_status(mut output: UnwrappedOutput<'_>) -> UnwrappedOutput<'_> {
    if output.status.is_some() {
        return output;
    }
    let text = output.text.trim_start();
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| text.starts_with(beginning));
    output.status = if begins(REFUSAL_TEXTS) || text.starts_with("exec_command failed") && text.contains("ejected") {
        Some(CallStatus::Refused)
    } else if text.starts_with("command timed out after") || output.exit_code == Some(124) {
        Some(CallStatus::TimedOut)
    } else if let Some(code) = output.exit_code {
        Some(if code == 0 { CallStatus::Ok } else { CallStatus::Error })
    } else if begins(FAILURE_TEXTS) {
        Some(CallStatus::Error)
    } else {
        None
    };
    output
}

#[derive(Deserialize)]
struct OutputEnvelope {
    output: String,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    exit_code: Option<i32>,
    duration_seconds: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unwrapped(text: &str) -> UnwrappedOutput<'_> {
        unwrap(Cow::Borrowed(text))
    }

    #[test]
    fn the_three_wrappings_give_the_same_output() {
        let wrapped = [
            "{\"output\":\"1 failed\\n\",\"metadata\":{\"exit_code\":1,\"duration_seconds\":0.5}}",
            "Exit code: 1\nWall time: 0.5 seconds\nOutput:\n1 failed\n",
            "Chunk ID: adab13\nWall time: 0.5000 seconds\nProcess exited with code 1\nOriginal token count: 2\nOutput:\n1 failed\n",
        ];
        for text in wrapped {
            let expected = UnwrappedOutput {
                text: Cow::Borrowed("1 failed\n"),
                status: Some(CallStatus::Error),
                exit_code: Some(1),
                duration_ms: Some(500),
            };
            assert_eq!(unwrapped(text), expected, "{text}");
        }
    }

    #[test]
    fn a_process_that_runs_on_has_neither_failed_nor_ended() {
        let text = "Chunk ID: 1\nWall time: 10.0 seconds\nProcess running with session ID 4711\nOutput:\nbuilding\n";
        let running = unwrapped(text);
        assert_eq!(
            (running.status, running.exit_code, &*running.text),
            (Some(CallStatus::Running), None, "building\n")
        );
    }

    #[test]
    fn the_header_of_a_script_is_no_part_of_its_output() {
        let text = "Script completed\nWall time 5.0 seconds\nOutput:\n\n---> f3b4\n";
        assert_eq!((&*unwrapped(text).text, unwrapped(text).duration_ms), ("\n---> f3b4\n", Some(5_000)));
        let running = unwrapped("Script running with cell ID 4\nWall time 10.1 seconds\nOutput:\n");
        assert_eq!(running.status, Some(CallStatus::Running));
    }

    #[test]
    fn refusals_and_failures_are_told_by_their_words() {
        assert_eq!(
            unwrapped("exec_command failed for `rm`: Rejected(\"rejected by user\")").status,
            Some(CallStatus::Refused)
        );
        assert_eq!(unwrapped("aborted by user after 3.1s").status, Some(CallStatus::Refused));
        assert_eq!(unwrapped("apply_patch verification failed: no such line").status, Some(CallStatus::Error));
        assert_eq!(unwrapped("command timed out after 10000 milliseconds\nx").status, Some(CallStatus::TimedOut));
        assert_eq!(unwrapped("Plan updated").status, None);
    }

    #[test]
    fn a_text_that_only_looks_like_a_header_stays_whole() {
        let text = "Process list\nOutput of ps\n";
        assert_eq!(unwrapped(text).text, text);
    }
}
