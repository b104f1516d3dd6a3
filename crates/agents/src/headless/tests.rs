use std::fmt::Write as _;

use super::*;
use crate::registry::{AGENTS, find};

/// The output of a real run, in pieces that end anywhere.
fn replay(agent: &str, output: &str) -> String {
    let protocol = find(agent).unwrap().headless.unwrap();
    let mut reader = OutputReader::new(Some(protocol));
    let mut text = String::new();
    for piece in output.as_bytes().chunks(97) {
        for event in reader.read(piece) {
            writeln!(text, "{}", serde_json::to_string(&event).unwrap()).unwrap();
        }
    }
    for event in reader.finish() {
        writeln!(text, "{}", serde_json::to_string(&event).unwrap()).unwrap();
    }
    writeln!(text, "answer: {:?}", reader.answer()).unwrap();
    writeln!(text, "session: {:?}", reader.session()).unwrap();
    writeln!(text, "failure: {:?}, limit: {:?}, denied: {:?}", reader.failure(), reader.limit(), reader.denied())
        .unwrap();
    text
}

macro_rules! recorded {
    ($($name:ident: $agent:literal, $file:literal;)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(replay($agent, include_str!(concat!("fixtures/", $file, ".jsonl"))));
        }
    )*};
}

recorded! {
    claude_code_works_and_answers: "claude", "claude-ok";
    claude_code_is_refused_a_permission: "claude", "claude-ask";
    claude_code_meets_a_limit: "claude", "claude-limit";
    codex_works_and_answers: "codex", "codex-ok";
    codex_meets_a_limit: "codex", "codex-limit";
    gemini_works_and_answers: "gemini", "gemini-ok";
    opencode_works_and_answers: "opencode", "opencode-ok";
    opencode_is_refused_a_permission: "opencode", "opencode-ro";
    copilot_works_and_answers: "copilot", "copilot-ok";
    copilot_is_refused_a_permission: "copilot", "copilot-ro";
    copilot_meets_a_limit: "copilot", "copilot-limit";
    qwen_works_and_answers: "qwen", "qwen-ok";
    qwen_is_refused_a_permission: "qwen", "qwen-ro";
}

#[test]
fn every_agent_has_its_own_flags_for_each_access() {
    let mut text = String::new();
    for agent in AGENTS {
        let Some(protocol) = agent.headless else { continue };
        for access in [Access::ReadOnly, Access::Workspace, Access::Full] {
            let request = HeadlessRequest {
                access,
                model: Some("best"),
                resume: Some("0190"),
                schema: Some("{}").filter(|_| protocol.enforces_schema()),
                scratch: Path::new("/run"),
            };
            let command = protocol.command(&request);
            let args: Vec<&str> = command.args.iter().filter_map(|arg| arg.to_str()).collect();
            let env: Vec<String> = command.env.iter().map(|(name, value)| format!("{name}={value} ")).collect();
            writeln!(text, "{} {access:?}: {}{}", agent.id, env.concat(), args.join(" ")).unwrap();
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn plain_output_is_the_answer() {
    let mut reader = OutputReader::new(None);
    reader.read(b"one\ntw");
    reader.read("o \u{e9}\n".as_bytes());
    reader.finish();
    assert_eq!(reader.answer(), "one\ntwo \u{e9}");
}

#[test]
fn lines_that_are_not_progress_are_skipped() {
    let mut reader = OutputReader::new(find("codex").unwrap().headless);
    let mut events =
        reader.read(b"WARNING: something\n[1,2]\n{\"type\":\"unknown\"}\n{\"type\":\"thread.started\"}\n{bad\n");
    events
        .extend(reader.read(b"{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"Done.\"}}"));
    events.extend(reader.finish());
    assert_eq!(events, [HeadlessEvent::Text { text: "Done.".to_owned() }]);
}
