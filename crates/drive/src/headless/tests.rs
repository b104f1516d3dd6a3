use super::*;

fn exit(status: i32, stderr: &str) -> Exit {
    Exit::for_test(std::process::ExitStatus::from_raw(status << 8), stderr)
}

/// A reader that has read these lines of Codex.
fn codex(lines: &[&str]) -> OutputReader {
    let mut reader = OutputReader::new(belay_agents::find("codex").and_then(|agent| agent.headless));
    for line in lines {
        reader.read(format!("{line}\n").as_bytes());
    }
    reader
}

const ANSWER: &str = r#"{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}"#;
const LIMIT: &str = r#"{"type":"turn.failed","error":{"message":"You have hit your usage limit."}}"#;
const FAILED: &str = r#"{"type":"turn.failed","error":{"message":"stream disconnected"}}"#;

#[test]
fn a_run_ends_as_the_agent_says_and_then_as_its_status_says() {
    assert_eq!(ending(&exit(0, ""), &codex(&[ANSWER]), None), Ending::Finished);
    let limited = ending(&exit(1, ""), &codex(&[LIMIT]), None);
    assert!(matches!(limited, Ending::Limited { until: None, .. }), "{limited:?}");
    let failed = ending(&exit(0, ""), &codex(&[FAILED]), None);
    assert!(
        matches!(&failed, Ending::Crashed { last_output, .. } if last_output == "stream disconnected"),
        "{failed:?}"
    );
    let crashed = ending(&exit(3, "panicked at main.rs"), &codex(&[]), None);
    assert!(
        matches!(&crashed, Ending::Crashed { status: Some(3), last_output, .. } if last_output.contains("panicked"))
    );
}

#[test]
fn a_missing_login_needs_a_person_and_a_crash_that_mentions_one_does_not() {
    let refused = ending(&exit(1, "Not logged in. Please run /login"), &codex(&[]), None);
    assert!(matches!(&refused, Ending::Refused { why } if why.contains("/login")), "{refused:?}");
    let crashed = ending(&exit(1, "error in dialog in authentication.rs"), &codex(&[]), None);
    assert!(matches!(crashed, Ending::Crashed { .. }), "{crashed:?}");
}

#[test]
fn what_belay_did_comes_first() {
    let mut stopped = exit(0, "");
    stopped.stopped = Some(Stopped::TimedOut);
    assert_eq!(ending(&stopped, &codex(&[ANSWER]), None), Ending::TimedOut);
}

#[test]
fn a_run_costs_what_its_session_counted_or_what_the_agent_reports() {
    let tokens = |input: u64| Usage { input, ..Usage::default() };
    assert_eq!(run_usage(tokens(3000), tokens(0), false), tokens(3000), "ended by Belay before it reported");
    assert_eq!(run_usage(tokens(0), tokens(3000), false), tokens(3000), "without the proxy");
    assert_eq!(run_usage(tokens(2000), tokens(3000), false), tokens(3000), "the last response is not counted yet");
    assert_eq!(run_usage(tokens(1000), tokens(4000), true), tokens(1000), "the report is of the whole session");
    assert_eq!(run_usage(tokens(0), tokens(4000), true), tokens(4000));
}
