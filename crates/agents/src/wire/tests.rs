use std::collections::HashMap;

use super::*;

struct Recorded(HashMap<&'static str, &'static str>);

impl RequestHead for Recorded {
    fn header(&self, name: &str) -> Option<&str> {
        self.0.get(name).copied()
    }

    fn path(&self) -> &str {
        "/v1/responses"
    }
}

fn sender(headers: &[(&'static str, &'static str)]) -> (&'static str, RequestIdentity) {
    let (client, sender) = recognise(&Recorded(headers.iter().copied().collect()));
    (client.agent(), sender)
}

fn key(text: &str) -> Option<SessionKey> {
    SessionKey::parse(text)
}

#[test]
fn claude_names_session_and_sub_agent_as_its_hooks_do() {
    let base = [("user-agent", "claude-cli/2.1.325 (external, sdk-cli)"), ("x-claude-code-session-id", "a2b1")];
    let (agent, main) = sender(&base);
    assert_eq!((agent, &main.session, &main.parent), ("claude-code", &key("claude-code:a2b1"), &None));
    assert_eq!(main.version.as_deref(), Some("2.1.325"));
    let (_, child) = sender(&[base[0], base[1], ("x-claude-code-agent-id", "ab7c")]);
    assert_eq!((child.session, child.parent), (key("claude-code:a2b1/ab7c"), key("claude-code:a2b1")));
}

#[test]
fn codex_threads_sub_agents_and_titles_are_told_apart() {
    let main = r#"{"thread_source":"user","turn_id":"t-1","workspaces":{"/home/user/project":{"has_changes":false}}}"#;
    let ua = ("user-agent", "codex_exec/0.166.0 (Debian 12.0.0; x86_64) xterm-256color (codex_exec; 0.166.0)");
    let (agent, sent) = sender(&[ua, ("session-id", "01a1"), ("thread-id", "01a1"), ("x-codex-turn-metadata", main)]);
    assert_eq!((agent, sent.session, sent.auxiliary), ("codex", key("codex:01a1"), false));
    assert_eq!(sent.cwd.as_deref(), Some("/home/user/project"));
    assert_eq!(sent.version.as_deref(), Some("0.166.0"));

    let sub = r#"{"thread_source":"subagent","parent_thread_id":"01a1"}"#;
    let (_, sent) = sender(&[ua, ("session-id", "01a1"), ("thread-id", "01a2"), ("x-codex-turn-metadata", sub)]);
    assert_eq!((sent.session, sent.parent), (key("codex:01a2"), key("codex:01a1")));

    let title = r#"{"thread_source":"thread_title"}"#;
    let (_, sent) = sender(&[ua, ("session-id", "01a3"), ("thread-id", "01a3"), ("x-codex-turn-metadata", title)]);
    assert_eq!((sent.session, sent.auxiliary), (None, true));
}

#[test]
fn the_others_are_known_by_their_marks() {
    let (agent, sent) = sender(&[("user-agent", "opencode/1.18.33 ai-sdk/x"), ("x-session-id", "ses_e1fa")]);
    assert_eq!((agent, sent.session), ("opencode", key("opencode:ses_e1fa")));
    let (agent, sent) = sender(&[("user-agent", "GeminiCLI-tui/0.61.0/gemini-2.5-pro (linux; x64; terminal)")]);
    assert_eq!((agent, sent.session, sent.version.as_deref()), ("gemini", None, Some("0.61.0")));
    assert_eq!(sender(&[("user-agent", "OpenAI/JS 5.20.1"), ("x-initiator", "user")]).0, "copilot");
    assert_eq!(sender(&[("user-agent", "QwenCode/0.24.4 (linux; x64)")]).0, "qwen");
    assert_eq!(sender(&[("user-agent", "curl/8.0")]).0, "unknown");
}

#[test]
fn damaged_metadata_does_not_hide_the_agent() {
    let (agent, sent) = sender(&[("x-codex-turn-metadata", "{not json"), ("thread-id", "01a1")]);
    assert_eq!((agent, sent.session), ("codex", key("codex:01a1")));
}

#[test]
fn context_in_the_users_role_is_no_prompt() {
    for (agent, noise) in [
        ("claude", "<system-reminder>\nAs you answer"),
        ("codex", "<environment_context>\n  <cwd>/home"),
        ("gemini", "<session_context>\nThis is the Gemini CLI."),
        ("copilot", "<current_datetime>2026-11-15T17:53:56Z</current_datetime>"),
        ("qwen", "<system-reminder>\nThe following skills"),
    ] {
        assert_eq!(client(agent).user_prompt(noise), None, "{agent}");
        assert_eq!(client(agent).user_prompt("Fix the tests"), Some((Author::Person, "Fix the tests")), "{agent}");
    }
}

#[test]
fn what_a_person_typed_is_found_behind_the_context_in_front_of_it() {
    let copilot = "<current_datetime>2026-11-15T17:53:56Z</current_datetime>\n\nFix the tests";
    assert_eq!(client("copilot").user_prompt(copilot), Some((Author::Person, "Fix the tests")));
    assert_eq!(client("pi").user_prompt("< 3 tests fail"), Some((Author::Person, "< 3 tests fail")));
}

#[test]
fn each_agent_gets_the_refusal_it_takes_as_final() {
    let codex = client("codex").refuse("belay_paused", "Held.");
    assert_eq!((codex.status, codex.body.as_str()), (400, "Held."));
    for agent in ["claude", "gemini", "copilot", "opencode", "qwen", "pi", "somebody"] {
        let refusal = client(agent).refuse("belay_paused", "Held.");
        assert_eq!(refusal.status, 402, "{agent}");
        assert!(refusal.headers.contains(&("x-should-retry", "false")), "{agent}");
        let body: Value = serde_json::from_str(&refusal.body).unwrap();
        assert_eq!(body["error"]["message"], "Held.", "{agent}");
    }
}
