use std::collections::HashMap;

use super::*;

struct Recorded(HashMap<&'static str, &'static str>);

impl RequestHead for Recorded {
    fn header(&self, name: &str) -> Option<&str> {
        self.0.get(name).copied()
    }

    fn path(&self) -> &str {
        self.0.get(":path").copied().unwrap_or("/v1/chat/completions")
    }
}

fn who(headers: &[(&'static str, &'static str)], run: Option<&str>) -> RequestSender {
    RequestSender::read(&Recorded(headers.iter().copied().collect()), run)
}

fn named(headers: &[(&'static str, &'static str)], run: Option<&str>) -> Option<String> {
    who(headers, run).session.map(|key| key.to_string())
}

#[test]
fn the_most_certain_name_wins() {
    let opencode = ("user-agent", "opencode/1.18.33");
    let native = ("x-session-id", "ses_1");
    let watchdog = ("x-loop-session", "repo:me:main");
    assert_eq!(named(&[opencode, native], Some("opencode:run-1")).as_deref(), Some("opencode:ses_1"));
    assert_eq!(named(&[opencode, native, watchdog], None).as_deref(), Some("legacy:repo:me:main"));
    assert_eq!(named(&[("user-agent", "GeminiCLI/0.61.0/x")], Some("gemini:4f%2F2")).as_deref(), Some("gemini:4f/2"));
    assert_eq!(named(&[], Some("pi:run-1")).as_deref(), Some("pi:run-1"));
    assert_eq!(named(&[("x-belay-session", "run-1")], None).as_deref(), Some("unknown:run-1"));
    assert_eq!(named(&[], None), None);
}

#[test]
fn the_agents_own_session_may_be_named_by_somebody_who_knows_it() {
    let gemini = ("user-agent", "GeminiCLI/0.61.0/x");
    let (agent, own) = (("x-loop-agent", "Gemini-CLI"), ("x-loop-agent-session", "4f2"));
    assert_eq!(named(&[gemini, own], Some("gemini:run-1")).as_deref(), Some("gemini:4f2"), "as its hooks say");
    assert_eq!(named(&[gemini, agent, own], None).as_deref(), Some("gemini:4f2"));
    assert_eq!(named(&[agent, own], None).as_deref(), Some("gemini:4f2"));
    assert_eq!(who(&[agent, own], None).client.agent(), "gemini");
    assert_eq!(named(&[("x-loop-agent", "robot"), own], None).as_deref(), Some("robot:4f2"));
    assert_eq!(named(&[own], None).as_deref(), Some("unknown:4f2"));
    assert_eq!(named(&[agent], None), None, "an agent is no session");
    // The agent's own id on the wire takes precedence.
    let opencode = [("user-agent", "opencode/1.18.33"), ("x-session-id", "ses_1"), agent, own];
    assert_eq!(named(&opencode, None).as_deref(), Some("opencode:ses_1"));
    assert_eq!(named(&[gemini, ("x-loop-agent", "codex"), own], Some("gemini:run-1")).as_deref(), Some("gemini:run-1"));
    // Loop Watchdog's own session name takes precedence, because its clients use it.
    let watchdog = who(&[("x-loop-session", "repo:me"), agent, own], None);
    assert_eq!(
        (watchdog.session.unwrap().to_string().as_str(), watchdog.expects_supervisor_refusal),
        ("legacy:repo:me", true)
    );
}

#[test]
fn only_unknown_clients_that_name_a_loop_session_get_the_supervisors_refusal() {
    assert!(who(&[("x-loop-session", "s")], None).expects_supervisor_refusal);
    assert!(
        !who(&[("x-loop-session", "s"), ("user-agent", "codex_exec/0.166.0 (x)")], None).expects_supervisor_refusal
    );
    assert!(!who(&[], None).expects_supervisor_refusal);
}

#[test]
fn an_agent_known_only_by_its_key_speaks_its_dialect() {
    assert_eq!(who(&[("user-agent", "OpenAI/JS 6.26.0")], Some("pi:r")).client.agent(), "pi");
}

/// The session named by a body whose head names none.
fn by_body(body: &str, index: &mut PrefixIndex) -> String {
    let mut anonymous = AnonymousSessions::default();
    let sender = who(&[("authorization", "Bearer k")], None);
    let session = sender.resolve_session(WireApi::Chat, body.as_bytes(), index, &mut anonymous, |_| false);
    session.unwrap().to_string()
}

#[test]
fn the_body_may_name_the_session() {
    let mut index = PrefixIndex::default();
    for (fields, id) in [
        (r#""metadata":{"session_id":"a"},"user":"u""#, "legacy:a"),
        (r#""metadata":{"loop_watchdog_session":"b"}"#, "legacy:b"),
        (r#""metadata":{"agent":"codex_cli","agent_session_id":"n","session_id":"a"}"#, "legacy:a"),
        (r#""metadata":{"agent":"codex","agent_session_id":"n"},"user":"u""#, "codex:n"),
        (r#""metadata":{"x":1},"prompt_cache_key":"c","user":"u""#, "unknown:c"),
        (r#""user":"d""#, "legacy:d"),
    ] {
        let body = format!(r#"{{"messages":[{{"role":"user","content":"{id}"}}],{fields}}}"#);
        // The second time the start is known, and the fields after it still count.
        for _ in 0..2 {
            assert_eq!(by_body(&body, &mut index), id);
        }
    }
}

#[test]
fn an_anonymous_conversation_stays_together_as_it_grows() {
    let mut index = PrefixIndex::default();
    let start = r#"{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"Fix A"}"#;
    let first = by_body(&format!("{start}]}}"), &mut index);
    let later = by_body(
        &format!(r#"{start},{{"role":"assistant","content":"x"}},{{"role":"user","content":"y"}}]}}"#),
        &mut index,
    );
    assert_eq!(first, later);
    assert!(first.starts_with("unknown:anon-"), "{first}");
    let other = by_body(&format!("{}]}}", start.replace("Fix A", "Fix B")), &mut index);
    assert_ne!(first, other);
    let somebody = who(&[("authorization", "Bearer other")], None);
    let body = format!("{start}]}}");
    let mut anonymous = AnonymousSessions::default();
    let theirs =
        somebody.resolve_session(WireApi::Chat, body.as_bytes(), &mut index, &mut anonymous, |_| false).unwrap();
    assert_ne!(first, theirs.to_string(), "two accounts are never one session");
}

#[test]
fn an_id_that_can_neither_be_kept_nor_shown_is_none() {
    assert_eq!(who(&[], Some("codex:%1b[2Jrun")).session, None);
    assert_eq!(&*who(&[], Some("codex:a%20run")).session.unwrap().id, "a run");
    let long: &'static str = Box::leak("x".repeat(600).into_boxed_str());
    let named = who(&[("x-loop-session", long), ("x-belay-session", "codex:run")], None);
    assert_eq!(named.session.map(|session| session.to_string()).as_deref(), Some("codex:run"));
    assert_eq!(who(&[("x-belay-session", long)], None).session, None);
    assert_eq!(who(&[], Some(long)).session, None);
    let opencode = [("user-agent", "opencode/1.18.33"), ("x-session-id", long)];
    assert_eq!(who(&opencode, None).session, None);
}

#[test]
fn the_account_gives_nothing_away() {
    let digest = |name, value| who(&[(name, value)], None).account.unwrap();
    assert_eq!(digest("authorization", "Bearer sk-1"), digest("authorization", "Bearer sk-1"));
    assert_ne!(digest("authorization", "Bearer sk-1"), digest("x-api-key", "sk-2"));
    assert_ne!(digest("authorization", "Bearer sk-1"), Digest::from_bytes("Bearer sk-1"));
    assert_eq!(who(&[], None).account, None);
    let gemini = "/v1beta/models/g:generateContent";
    assert_eq!(who(&[(":path", gemini)], None).account, None);
    assert_eq!(
        digest(":path", "/v1beta/models/g:generateContent?alt=sse&key=AIza1"),
        digest("x-goog-api-key", "AIza1")
    );
}

#[test]
fn a_body_tells_what_the_headers_do_not() {
    let mut labels = who(&[("x-loop-branch", "main")], None).labels;
    labels.fill_from_body(br#"{"metadata":{"repository":"r","workspace":"/w","branch":"other","task_id":"t"}}"#);
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(labels, SessionLabels { project: text("r"), cwd: text("/w"), branch: text("main"), task: text("t") });
}

#[test]
fn a_plan_is_taken_from_the_body() {
    assert_eq!(plan_in_body(br#"{"metadata":{"changed_plan":"mock it"},"x":1}"#).as_deref(), Some("mock it"));
    assert_eq!(plan_in_body(br#"{"metadata":{"loop_watchdog_plan":" "}}"#), None);
    assert_eq!(plan_in_body(b"[]"), None);
}

#[test]
fn a_fresh_run_with_the_same_prompt_is_another_session() {
    let (mut index, mut anonymous) = (PrefixIndex::default(), AnonymousSessions::default());
    let start = r#"{"tools":[1],"messages":[{"role":"system","content":"S"},{"role":"user","content":"Fix"}"#;
    let mut session = |more: &str| {
        let body = format!("{start}{more}]}}");
        let sender = who(&[("user-agent", "GeminiCLI/0.61.0/x")], None);
        sender.resolve_session(WireApi::Chat, body.as_bytes(), &mut index, &mut anonymous, |_| false).unwrap()
    };
    let first = session("");
    assert_eq!(session(r#",{"role":"assistant","content":"Done"}"#), first);
    assert_eq!(session(r#",{"role":"assistant","content":"Done"},{"role":"user","content":"More"}"#), first);
    let second = session("");
    assert_ne!(second, first);
    // Both go on.
    let more = r#",{"role":"assistant","content":"Done"},{"role":"user","content":"More"},{"role":"assistant"}"#;
    assert_eq!(session(more), first);
    assert_eq!(session(r#",{"role":"assistant","content":"Other"}"#), second);
}
