//! Permission prompts that a person answers in Belay: the hook waits, and says only what the person said.

use std::io::Write;
use std::process::{Child, Stdio};

use belay_core::event::PermissionAnswer;
use belay_ipc::AnswerRequest;
use belay_ipc::views::PendingApproval;
use serde_json::{Value, json};

use crate::hook::{alone, payload};
use crate::resident::{Serve, client, wait_for_events};
use crate::world::{World, within};

/// A resident process that offers prompts, and hooks that have time to reach it.
pub(crate) struct Scene {
    pub(crate) world: World,
    serve: Serve,
}

/// A hook process that waits for an answer.
pub(crate) struct WaitingHook(Child);

impl WaitingHook {
    /// What the agent reads.
    pub(crate) fn stdout(self) -> String {
        let output = within("the hook", move || self.0.wait_with_output().unwrap());
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Scene {
    fn new(more: &[&str]) -> Self {
        Self::in_world(alone(), more)
    }

    pub(crate) fn in_world(world: World, more: &[&str]) -> Self {
        let world = world.var("BELAY_HOOK_TIMEOUT", "5s");
        let mut args = vec!["--listen", "127.0.0.1:0", "--set", "approvals.enabled=true"];
        args.extend_from_slice(more);
        let serve = Serve::start_with(&world, &args);
        Self { world, serve }
    }

    fn hook(&self, event: &str, session: &str, command: &str) -> WaitingHook {
        let mut payload = payload(event, session, "t1", command);
        if event == "PermissionRequest" {
            payload.as_object_mut().unwrap().remove("tool_use_id");
        }
        self.hook_with(&payload)
    }

    fn hook_with(&self, payload: &Value) -> WaitingHook {
        let mut hook = self.world.command(["hook", "claude-code"]);
        let mut child = hook.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
        WaitingHook(child)
    }

    /// A call that asks for permission, and its prompt.
    pub(crate) fn asks(&self, session: &str, command: &str) -> (WaitingHook, PendingApproval) {
        assert_eq!(self.hook("PreToolUse", session, command).stdout(), "");
        let hook = self.hook("PermissionRequest", session, command);
        wait_for_events(&self.world, "claude-code", session, &["permission_asked"], 1);
        let prompt = self.until(|pending| pending.into_iter().next());
        (hook, prompt)
    }

    /// Asks for the open prompts until they are as wanted.
    fn until<T: Send + 'static>(&self, wanted: impl Fn(Vec<PendingApproval>) -> Option<T> + Send + 'static) -> T {
        let mut client = client(&self.world);
        within("the prompts", move || {
            loop {
                if let Some(found) = wanted(client.approvals().unwrap()) {
                    return found;
                }
            }
        })
    }

    /// What the log says about the end of the session's prompt.
    fn ending(&self, session: &str) -> (String, String) {
        wait_for_events(&self.world, "claude-code", session, &["approval_ended"], 1);
        let log = self.world.run(&["events", "tail", &format!("claude-code:{session}"), "--json"]).out;
        let ended = log.lines().find(|line| line.contains("approval_ended")).expect("the event");
        let event = serde_json::from_str::<Value>(ended).unwrap()["event"].clone();
        assert!(event["at"].is_string() && event["approval"].as_str().unwrap().starts_with("apr-"), "{event}");
        (event["how"].as_str().unwrap().to_owned(), event["what"].as_str().unwrap().to_owned())
    }

    fn nothing_waits(&self) -> bool {
        self.world.run(&["approvals", "--json"]).json()["approvals"] == json!([])
    }
}

#[test]
fn allow_reaches_the_agent_and_the_log() {
    let scene = Scene::new(&[]);
    let (hook, prompt) = scene.asks("s", "touch made");
    assert_eq!((prompt.tool.as_str(), prompt.text.as_str()), ("Bash", "touch made"));
    let status = scene.world.run(&["show", "claude-code:s", "--json"]).json();
    assert_eq!(status["session"]["status"]["value"], "waiting", "{status}");
    let listed = scene.world.run_text(&["approvals"]);
    assert!(listed.contains(&prompt.id) && listed.contains("touch made"), "{listed}");
    let shown = scene.world.run_text(&["approve", &prompt.id]);
    assert!(shown.contains("Allowed once: Bash of claude-code:s"), "{shown}");
    let output: Value = serde_json::from_str(&hook.stdout()).unwrap();
    assert_eq!(output["hookSpecificOutput"]["decision"], json!({ "behavior": "allow" }), "once, and no rule");
    let log = scene.world.run(&["events", "tail", "--json"]).out;
    let answer = log.lines().find(|line| line.contains(r#""decision":"answer""#)).expect("the answer");
    for part in [prompt.id.as_str(), &prompt.hash, r#""answer":"allow""#, r#""caller""#] {
        assert!(answer.contains(part), "{part} in {answer}");
    }
    let late = scene.world.run(&["deny", &prompt.id]);
    assert!(
        late.code == Some(1) && late.err.contains("already decided") && late.err.contains("allowed it"),
        "{}",
        late.err
    );
    let status = scene.world.run(&["show", "claude-code:s", "--json"]).json();
    assert_eq!(status["session"]["status"]["value"], "working", "{status}");
}

#[test]
fn an_answer_names_the_prompt_by_its_complete_id() {
    let scene = Scene::new(&[]);
    let (hook, prompt) = scene.asks("s", "make");
    assert_eq!(prompt.id.len(), "apr-".len() + 16, "64 bits");
    let longer = format!("{}0", prompt.id);
    for args in [
        &["approve"][..],
        &["deny"],
        &["approve", &prompt.id[..19]],
        &["deny", &prompt.id[..12]],
        &["approve", &longer],
    ] {
        let refused = scene.world.run(args);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(
            refused.err.contains(&format!("{}: Bash of claude-code:s", prompt.id)),
            "the pending ones: {refused:?}"
        );
    }
    let other = format!("apr-{}", "0".repeat(16));
    let unknown = scene.world.run(&["approve", &other]);
    assert!(unknown.code == Some(1) && unknown.err.contains("no permission prompt"), "{unknown:?}");
    scene.world.run_text(&["approve", &prompt.id]);
    assert!(hook.stdout().contains("allow"));
}

#[test]
fn nothing_of_what_runs_is_hidden() {
    let scene = Scene::new(&[]);
    let command = "API_KEY=abcdef0123456789;touch${IFS}pwn\necho \u{202e}x\u{200b};\u{a0}\u{430}ls\r\n";
    let mut asks = payload("PermissionRequest", "s", "t1", command);
    asks["cwd"] = "/\napr-0000000000000000  claude-code:x".into();
    let hook = scene.hook_with(&asks);
    let prompt = scene.until(|pending| pending.into_iter().next());
    assert_eq!(prompt.text, command);
    let listed = scene.world.run_text(&["approvals"]);
    assert!(listed.contains(r"asks to use Bash in /\napr-0000000000000000  claude-code:x"), "{listed}");
    for line in ["API_KEY=abcdef0123456789;touch${IFS}pwn", r"echo \u{202e}x\u{200b};\u{a0}\u{430}ls\r", ""] {
        assert!(listed.contains(&format!("\n    {line}\n")), "{line:?} in {listed}");
    }
    let shown = scene.world.run_text(&["deny", &prompt.id]);
    assert!(shown.contains("    API_KEY=abcdef0123456789;touch${IFS}pwn\n"), "{shown}");
    assert!(hook.stdout().contains("deny"));
    let log = scene.world.run(&["events", "tail", "--json"]).out;
    assert!(log.contains("permission_asked") && !log.contains("abcdef0123456789"), "the record is redacted: {log}");
}

#[test]
fn a_held_session_holds_the_prompts_of_its_sub_agents() {
    let scene = Scene::new(&[]);
    assert_eq!(scene.hook("PreToolUse", "s", "ls").stdout(), "");
    let mut asks = payload("PermissionRequest", "s", "t2", "make");
    asks["agent_id"] = "a1".into();
    let hook = scene.hook_with(&asks);
    let prompt = scene.until(|pending| pending.into_iter().next());
    assert_ne!(prompt.session, "claude-code:s");
    scene.world.run_text(&["pause", "claude-code:s"]);
    let refused = scene.world.run(&["approve", &prompt.id]);
    assert!(refused.code == Some(1) && refused.err.contains("held by Belay"), "{refused:?}");
    scene.world.run_text(&["deny", &prompt.id]);
    assert!(hook.stdout().contains("deny"));
}

#[test]
fn deny_tells_the_agent_why() {
    let scene = Scene::new(&[]);
    let (hook, prompt) = scene.asks("s", "make deploy");
    scene.world.run_text(&["deny", &prompt.id, "--why", "not on a Friday"]);
    let output: Value = serde_json::from_str(&hook.stdout()).unwrap();
    let decision = &output["hookSpecificOutput"]["decision"];
    assert_eq!(decision["behavior"], "deny");
    assert!(decision["message"].as_str().unwrap().contains("not on a Friday"), "{output}");
}

#[test]
fn without_an_answer_the_terminal_asks() {
    let scene = Scene::new(&["--set", "approvals.wait=1ms"]);
    assert_eq!(scene.hook("PermissionRequest", "s", "make").stdout(), "", "nobody answered");
    assert!(scene.nothing_waits());
    assert_eq!(scene.ending("s"), ("timed_out".to_owned(), "make".to_owned()));
    let shown = scene.world.run(&["events", "tail", "claude-code:s"]).out;
    assert!(shown.contains("approval_ended"), "{shown}");
    let off = alone();
    let _serve = Serve::start(&off);
    let output =
        off.run_with(&["hook", "claude-code"], payload("PermissionRequest", "s", "t1", "make").to_string().as_bytes());
    assert_eq!(output.out, "", "off by default");
    let alone = alone();
    let output = alone
        .run_with(&["hook", "claude-code"], payload("PermissionRequest", "s", "t1", "make").to_string().as_bytes());
    assert_eq!((output.code, output.out.as_str()), (Some(0), ""), "no resident process");
}

#[test]
fn the_resident_process_may_stop_while_a_hook_waits() {
    let scene = Scene::new(&[]);
    let (hook, _) = scene.asks("s", "make");
    scene.serve.kill();
    assert_eq!(hook.stdout(), "", "the terminal asks");
}

#[test]
fn an_answer_in_the_terminal_and_a_hook_that_is_gone_end_the_prompt() {
    let scene = Scene::new(&[]);
    let (hook, prompt) = scene.asks("s", "make");
    assert_eq!(scene.hook("PostToolUseFailure", "s", "make").stdout(), "");
    assert_eq!(hook.stdout(), "");
    assert!(scene.nothing_waits());
    assert!(scene.world.run(&["approve", &prompt.id]).err.contains("answered elsewhere"));
    assert_eq!(scene.ending("s").0, "answered_elsewhere");
    let (mut hook, prompt) = scene.asks("s2", "make");
    hook.0.kill().unwrap();
    hook.0.wait().unwrap();
    scene.until(|pending| pending.is_empty().then_some(()));
    assert!(scene.world.run(&["approve", &prompt.id]).err.contains("no longer waits"));
    assert_eq!(scene.ending("s2").0, "abandoned");
}

#[test]
fn an_answer_is_bound_to_what_was_shown_and_a_held_session_stays_held() {
    let scene = Scene::new(&[]);
    let (hook, prompt) = scene.asks("s", "make");
    let request = |answer, hash: &str| AnswerRequest {
        id: prompt.id.clone(),
        answer,
        hash: hash.to_owned(),
        why: String::new(),
        by: Some("anna".to_owned()),
        caller: None,
    };
    let wrong = client(&scene.world).answer(&request(PermissionAnswer::Allow, "0123")).unwrap_err();
    assert!(wrong.to_string().contains("hash does not match"), "{wrong}");
    scene.world.run_text(&["pause", "claude-code:s"]);
    let held = client(&scene.world).answer(&request(PermissionAnswer::Allow, &prompt.hash)).unwrap_err();
    assert!(held.to_string().contains("held by Belay"), "{held}");
    client(&scene.world).answer(&request(PermissionAnswer::Deny, &prompt.hash)).unwrap();
    assert!(hook.stdout().contains(r#""behavior":"deny""#));
    let refused = scene.hook("PermissionRequest", "s", "ls").stdout();
    assert!(refused.contains("paused this session"), "held, so not offered: {refused}");
    assert!(scene.nothing_waits());
}

#[test]
fn over_http_an_answer_requires_the_token() {
    let scene = Scene::new(&[]);
    let (hook, prompt) = scene.asks("s", "make");
    let token = scene.world.run(&["status", "--token", "--json"]).json()["token"].as_str().unwrap().to_owned();
    let post = |headers: &str, body: &Value| {
        let body = body.to_string();
        let output = scene.serve.http(&format!(
            "POST /api/v1/approvals/{} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n{headers}\r\n{body}",
            prompt.id,
            body.len()
        ));
        output.split(' ').nth(1).unwrap().to_owned()
    };
    let owner = format!("authorization: Bearer {token}\r\n");
    let allow = json!({ "answer": "allow", "hash": prompt.hash, "by": "anna" });
    assert_eq!(post("", &allow), "401");
    assert_eq!(post(&owner, &json!({ "answer": "always", "hash": prompt.hash })), "400", "no rules");
    assert_eq!(post(&owner, &json!({ "answer": "allow", "hash": "0" })), "409");
    let listed = scene.serve.get("/api/v1/approvals");
    assert!(listed.contains(&prompt.hash), "{listed}");
    assert_eq!(post(&owner, &allow), "200");
    assert!(hook.stdout().contains(r#""behavior":"allow""#));
    assert_eq!(post(&owner, &allow), "409", "the second answer");
    let decision = json!({ "decision": "answer", "approval": "apr-1", "answer": "allow", "hash": "0" }).to_string();
    let forged = scene.serve.http(&format!(
        "POST /api/v1/sessions/claude-code:s/decisions HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n{owner}\r\n{decision}",
        decision.len()
    ));
    assert!(forged.starts_with("HTTP/1.1 400"), "an answer is no decision about a session: {forged}");
}

#[test]
fn an_agent_does_not_approve_its_own_calls() {
    let scene = Scene::new(&[]);
    let (hook, prompt) = scene.asks("s", "make");
    let refused = scene.world.command(["approve", &prompt.id]).env("CLAUDE_CODE_SESSION_ID", "s").output().unwrap();
    let err = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && err.contains("called by an agent"), "{err}");
    scene.world.run_text(&["deny", &prompt.id]);
    assert!(hook.stdout().contains("deny"));
}
