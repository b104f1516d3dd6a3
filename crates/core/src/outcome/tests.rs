//! Wrappers, status, error families and phrases in real outputs.

use proptest::prelude::*;

use super::{CallStatus, Outcome};

fn parse(output: &str) -> Outcome {
    Outcome::from_output(output, None)
}

fn status(output: &str) -> CallStatus {
    parse(output).status(None)
}

#[test]
fn wrappers_are_removed_and_yield_the_exit_code() {
    let plain = parse("running");
    for (wrapped, code) in [
        ("Exit code: 3\nWall time: 0.1 seconds\nOutput:\nrunning\n", Some(3)),
        (
            "Chunk ID: 8f3a1b\nWall time: 0.0501 seconds\nProcess exited with code 3\nOriginal token count: 2\nOutput:\nrunning\n",
            Some(3),
        ),
        ("{\"output\":\"running\\n\",\"metadata\":{\"exit_code\":3,\"duration_seconds\":0.1}}", Some(3)),
        ("{\"stdout\": \"running\", \"stderr\": \"\", \"interrupted\": false, \"exit_code\": 3}", Some(3)),
        ("Exit code 3\nrunning", Some(3)),
        (
            "<untrusted_context>\nOutput: running\nExit Code: 3\nProcess Group PGID: 25677\n</untrusted_context>",
            Some(3),
        ),
        ("Output: running\nExit Code: 3\nProcess Group PGID: 25431", Some(3)),
        ("running\n<shellId: 2 completed with exit code 3>", Some(3)),
        ("<returncode>3</returncode>\n<output>\nrunning\n</output>", Some(3)),
        (
            "running\n[The command completed with exit code 3.]\n[Current working directory: /w]\n[Python interpreter: /usr/bin/python]",
            Some(3),
        ),
        ("running\n\nCommand exited with code 3", Some(3)),
        ("<output>\nrunning\n</output>", None),
    ] {
        let outcome = parse(wrapped);
        assert_eq!((outcome.digest, outcome.exit_code), (plain.digest, code), "{wrapped}");
        assert_eq!(outcome.status(None), if code.is_some() { CallStatus::Error } else { CallStatus::Ok }, "{wrapped}");
    }
    assert_eq!(status("Exit code: 0\nWall time: 1 seconds\nOutput:\nError: printed, not meant\n"), CallStatus::Ok);
}

#[test]
fn text_that_resembles_a_wrapper_stays() {
    for text in
        ["Output:\nfoo", "{\"output\": 3}", "Exit code unknown\nrest", "[1, 2, 3]", "<div>\n</div>", "Command: ls"]
    {
        assert_eq!(parse(text).exit_code, None);
        assert_eq!(parse(text).len as usize, text.len(), "{text}");
    }
}

#[test]
fn exit_codes_override_the_text() {
    assert_eq!(Outcome::from_output("Exit code 3\nrunning", Some(0)).exit_code, Some(0));
    assert!(!Outcome::from_output("Error: x", Some(0)).failed);
}

#[test]
fn a_running_process_has_neither_failed_nor_succeeded() {
    let text = "Chunk ID: ab12cd\nWall time: 10.0 seconds\nProcess running with session ID 4711\nOriginal token count: 0\nOutput:\n";
    assert_eq!(status(text), CallStatus::Running);
    let later = text.replace("ab12cd", "ffee01").replace("10.0", "12.4");
    assert_eq!(parse(text), parse(&later));
}

#[test]
fn file_content_about_errors_is_not_an_error() {
    for text in [
        "     1\tfn main() {\n     2\t    eprintln!(\"error: command timed out after 5s\");\n     3\t}\n",
        "src/a.rs:12:    // requires approval by the user\nsrc/b.rs:3:    rate limit\n",
        "# Errors\n\nError handling is done in `error.rs`. A request may be rejected by the user.\n",
        "12:    raise TimeoutError('timed out waiting')\n",
        "let message = \"permission denied\";",
        "docs/guide.md:7: Error: the first word of a sentence\n",
    ] {
        let outcome = parse(text);
        assert_eq!(outcome.status(None), CallStatus::Ok, "{text}");
        assert!(!outcome.outage && !outcome.refused && !outcome.timed_out, "{text}");
    }
}

#[test]
fn harness_messages_set_the_status() {
    for (text, expected) in [
        ("<tool_use_error>String to replace not found in file.</tool_use_error>", CallStatus::Error),
        ("Error: File does not exist.", CallStatus::Error),
        ("[error] No replacement was performed.", CallStatus::Error),
        ("Tool lookup returned: Error: no such bug", CallStatus::Error),
        ("{\"observation\": \"No module named x\", \"success\": false}", CallStatus::Error),
        ("This command requires approval", CallStatus::Refused),
        ("Claude requested permissions to write to /a/b.txt, but you haven't granted it yet.", CallStatus::Refused),
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit).",
            CallStatus::Refused,
        ),
        ("Command blocked by PreToolUse hook: not today. Command: rm -rf /", CallStatus::Refused),
        (
            "Permission to use Write has been denied because the agent runs without a prompt. It was auto-denied.",
            CallStatus::Refused,
        ),
        ("Command timed out after 2m 0.0s", CallStatus::TimedOut),
        ("collecting ...\nworking ...\n\n[Command timed out after 120 seconds]", CallStatus::TimedOut),
        (
            "[error] Error running bash command: timed out: bash has not returned in 120.0 seconds and must be restarted",
            CallStatus::TimedOut,
        ),
        ("", CallStatus::Ok),
        ("all fine", CallStatus::Ok),
    ] {
        assert_eq!(status(text), expected, "{text}");
    }
    assert_eq!(Outcome::from_output("", Some(124)).status(Some(124)), CallStatus::TimedOut);
}

#[test]
fn outages_are_external() {
    for text in [
        "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
        "Error: Request failed with status code 429",
        "fatal: unable to access 'https://example.com/x.git/': Could not resolve host: example.com",
        "npm ERR! code ECONNRESET\nnpm ERR! network aborted",
    ] {
        assert!(Outcome::from_output(text, Some(1)).outage, "{text}");
    }
    for text in [
        "curl: (7) Failed to connect to localhost port 3000: Connection refused",
        "ModuleNotFoundError: No module named 'x'",
    ] {
        assert!(!Outcome::from_output(text, Some(1)).outage, "{text}");
    }
    assert!(!Outcome::from_output("the log says: rate limit", Some(0)).outage);
}

#[test]
fn empty_results_and_acknowledgements() {
    for text in [
        "",
        "\n",
        "No matches found",
        "No files found",
        "[]",
        "(no output)",
        "Command ran successfully with no output",
        "<output>\n</output>",
    ] {
        assert!(parse(text).empty, "{text:?}");
    }
    assert!(!parse("found 12 matches").empty);
    assert!(parse("Todos have been modified successfully. Ensure that you continue to use the todo list").acknowledged);
    assert!(parse("Plan updated").acknowledged);
    assert!(!parse("cargo test passed").acknowledged);
}

/// The family of a failed command's output.
fn family(output: &str) -> String {
    Outcome::from_output(output, Some(1)).family_name
}

#[test]
fn one_cause_in_many_wordings() {
    let table: &[(&str, &[&str])] = &[
        (
            "text to replace not found",
            &[
                "<tool_use_error>String to replace not found in file.\nString: let x = 1;</tool_use_error>",
                "No replacement was performed, old_str `let x = 1;` did not appear verbatim in /a/b.rs.",
                "Failed to edit, 0 occurrences found for old_string (let x). Ensure you're not escaping content incorrectly",
                "apply_patch verification failed: Failed to find expected lines in /a/b.rs:\nlet x = 1;",
                "error: patch failed: src/a.rs:12\nerror: src/a.rs: patch does not apply",
            ],
        ),
        (
            "text to replace is ambiguous",
            &[
                "No replacement was performed. Multiple occurrences of old_str `x` in lines [1, 2]. Please ensure it is unique",
                "Found 3 matches of the string to replace, but replace_all is false. To replace only one occurrence, ...",
            ],
        ),
        (
            "no such file",
            &[
                "cat: /a/b.txt: No such file or directory",
                "Error: ENOENT: no such file or directory, open '/a/b.txt'",
                "FileNotFoundError: [Errno 2] No such file or directory: 'b.txt'",
                "Error: File does not exist.",
            ],
        ),
        ("command not found", &["bash: line 1: pytst: command not found", "/bin/sh: 1: rg: not found"]),
        (
            "permission denied",
            &["bash: ./run.sh: Permission denied", "PermissionError: [Errno 13] Permission denied: 'x'"],
        ),
    ];
    for (cause, outputs) in table {
        for output in *outputs {
            assert_eq!(family(output), *cause, "{output}");
        }
    }
}

#[test]
fn the_decisive_line() {
    let trace = "loading\nTraceback (most recent call last):\n  File \"/r/a.py\", line 12, in <module>\n    run()\n  File \"/r/b.py\", line 3, in run\n    raise KeyError('name')\nKeyError: 'name'\n";
    assert_eq!(family(trace), "KeyError: name");
    let odd = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    x()\napp.exceptions.ImproperlyConfigured: set it up first\n";
    assert_eq!(family(odd), "app.exceptions.ImproperlyConfigured: set it up first");
    let chained = format!("{odd}\nDuring handling of the above exception, another exception occurred:\n\n{trace}");
    assert_eq!(family(&chained), "KeyError: name");
    let rust = "error[E0425]: cannot find value `foo` in this scope\n --> src/a.rs:3:5\n\nerror: could not compile `x` (lib) due to 1 previous error\n";
    assert_eq!(family(rust), "error[EN]: cannot find value foo in this scope");
    assert_eq!(
        family(
            "Exception in thread \"main\" java.lang.IllegalStateException: closed\n\tat A.b(A.java:3)\nCaused by: java.io.IOException: gone\n"
        ),
        "java.io.IOException: gone"
    );
    assert_eq!(family("thread 'main' panicked at src/main.rs:3:5:\nboom\n"), "thread main panicked at PATH:N:N:");
    assert_eq!(
        family("npm ERR! missing script: tset\nnpm ERR! A complete log of this run can be found in: /x\n"),
        "missing script: tset"
    );
}

#[test]
fn specifics_affect_the_message_but_not_the_family() {
    let a = Outcome::from_output("ValueError: expected 3 rows, got 4 in /data/x.csv", Some(1));
    let b = Outcome::from_output("ValueError: expected 3 rows, got 5 in /data/y.csv", Some(1));
    assert_eq!(a.family, b.family);
    assert_ne!(a.failure, b.failure);
    let other = Outcome::from_output("TypeError: expected 3 rows, got 4 in /data/x.csv", Some(1));
    assert_ne!(a.family, other.family);
}

#[test]
fn a_family_holds_no_secret() {
    let text = concat!("Error: invalid key sk-", "ant-api03-AbCdEf0123456789AbCdEf0123456789 for this account");
    assert_eq!(family(text), "invalid key [redacted:anthropic-key] for this account");
}

#[test]
fn moved_lines_do_not_change_the_failure() {
    let at = |line: u32| Outcome::from_output(&format!("src/a.c:{line}:5: error: expected ';'\n"), Some(1));
    assert_eq!(at(3).failure, at(30).failure);
    assert_eq!(at(3).family, at(30).family);
    assert_ne!(at(3).digest, at(30).digest);
}

#[test]
fn long_outputs_are_identified_by_their_ends() {
    let middle = |c: &str| format!("{}{}{}", "a\n".repeat(20_000), c.repeat(40_000), "b\n".repeat(20_000));
    assert_eq!(parse(&middle("x")).digest, parse(&middle("y")).digest);
    assert_ne!(parse(&format!("z{}", middle("x"))).digest, parse(&middle("x")).digest);
    assert_ne!(parse(&format!("{}z", middle("x"))).digest, parse(&middle("x")).digest);
}

#[test]
fn an_outcome_is_small_and_round_trips() {
    let many: String = (0..500).map(|i| format!("FAILED a.py::test_{i} - boom\n")).collect();
    let outcome = Outcome::from_output(&format!("{many}== 500 failed in 3.1s =="), Some(1));
    let json = serde_json::to_string(&outcome).unwrap();
    assert!(json.len() < 1200, "{}", json.len());
    assert_eq!(serde_json::from_str::<Outcome>(&json).unwrap(), outcome);
    assert_eq!(serde_json::to_string(&parse("fine")).unwrap().matches(':').count(), 3);
}

proptest! {
    #[test]
    fn any_text_is_accepted(text in "\\PC{0,200}(\n\\PC{0,80}){0,6}", code in prop::option::of(-1..130i32)) {
        let outcome = Outcome::from_output(&text, code);
        prop_assert!(outcome.family_name.len() <= 96);
        prop_assert_eq!(outcome.family.is_some(), !outcome.family_name.is_empty());
        // Parsing the remaining text again adds nothing.
        prop_assert_eq!(Outcome::from_output(&text, code), outcome);
    }

    #[test]
    fn times_and_ids_do_not_matter(h in 0..24u32, m in 0..60u32, s in 0..60u32, ms in 1..100_000u32, pid in 100..99_999u32) {
        let text = |h: u32, m: u32, s: u32, ms: u32, pid: u32| {
            format!("2026-11-15T{h:02}:{m:02}:{s:02}Z worker pid {pid} done in {ms}ms\n{h}:{m:02}:{s:02} object at 0x7f{pid:08x}")
        };
        prop_assert_eq!(parse(&text(h, m, s, ms, pid)).digest, parse(&text(1, 2, 3, 4, 500)).digest);
    }
}
