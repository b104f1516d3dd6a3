//! Model requests through the resident process: what is relayed, what is recorded, and what is never recorded.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use belay_core::event::OperatorDecision;
use belay_engine::{Engine, EngineOptions};
use belay_ipc::RunRequest;
use belay_store::{Access, StoreUrl};

use crate::resident::{Serve, client, wait_for_events};
use crate::world::{TEST_TIMEOUT, World, within};

mod faults;

const SECRETS: [&str; 3] = ["sk-client-7f3a9c51d2e84b60", "own-5b1e7a90c3d24f68", "cookie-0c9d8e7f6a5b4c3d"];

/// A resident process in front of an upstream that the test controls.
struct Relaying {
    world: World,
    serve: Serve,
    upstream: TcpListener,
}

impl Relaying {
    fn start() -> Self {
        let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
        let world = World::new().var("LAB_KEY", SECRETS[1]);
        let (url, dir) = (upstream.local_addr().unwrap(), world.path("home/.config/belay"));
        std::fs::create_dir_all(&dir).unwrap();
        let config = format!(
            "[log]\nlevel = \"trace\"\n[proxy]\nhold_timeout = \"0s\"\n[proxy.upstreams.openai]\nurl = \"http://{url}\"\n\
             [proxy.upstreams.lab]\nurl = \"http://{url}/lab\"\nauth = \"bearer\"\nkey_env = \"LAB_KEY\"\n\
             [proxy.upstreams.down]\nurl = \"http://127.0.0.1:9\"\n"
        );
        std::fs::write(dir.join("config.toml"), config).unwrap();
        let serve = Serve::start(&world);
        Self { world, serve, upstream }
    }

    fn client(&self) -> Wire {
        let url = self.serve.ready["url"].as_str().unwrap();
        Wire::new(TcpStream::connect(url.trim_start_matches("http://").trim_end_matches('/')).unwrap())
    }

    fn accept(&self) -> Wire {
        Wire::new(self.upstream.accept().unwrap().0)
    }

    /// One complete turn on a new upstream connection, which stays open.
    fn turn(&self, client: &mut Wire, more: &str, id: &str) -> Wire {
        client.send(&ask("/v1/chat/completions", "ses_1", more));
        let mut upstream = self.accept();
        upstream.read_to(END);
        upstream.send(&answer(id));
        client.read_to("}}");
        upstream
    }

    /// The connection of the next request. An idle connection may have been closed meanwhile: then it is at end of file
    /// and the request arrives on another one.
    fn next(&self, upstream: Wire) -> Wire {
        if upstream.0.peek(&mut [0]).unwrap() == 0 { self.accept() } else { upstream }
    }

    /// The kinds of the events of opencode's session, once there are so many.
    fn event_kinds(&self, session: &str, at_least: usize) -> Vec<String> {
        wait_for_events(&self.world, "opencode", session, &[], at_least);
        let output = self.world.run(&["events", "tail", session, "--lines", "100", "--json"]);
        let kind = |line: &str| {
            serde_json::from_str::<serde_json::Value>(line).ok()?["event"]["kind"].as_str().map(str::to_owned)
        };
        output.out.lines().filter_map(kind).collect()
    }
}

struct Wire(TcpStream);

impl Wire {
    fn new(stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        Self(stream)
    }

    fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).unwrap();
    }

    fn read_to(&mut self, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            let mut byte = [0];
            assert_eq!(self.0.read(&mut byte).unwrap(), 1, "closed after {}", String::from_utf8_lossy(&text));
            text.push(byte[0]);
        }
        String::from_utf8(text).unwrap()
    }
}

const CALL: &str = r#",{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"npm test\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"1 failing"}"#;
const END: &str = r#","tools":[{"type":"function"}]}"#;

/// A request of opencode's, which names its session itself.
fn ask(path: &str, session: &str, more: &str) -> String {
    let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"Fix the tests"}}{more}]{END}"#);
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: opencode/1.18.33\r\nX-Session-Id: {session}\r\n\
         Authorization: Bearer {}\r\nCookie: {}\r\nContent-Length: {}\r\n\r\n{body}",
        SECRETS[0],
        SECRETS[2],
        body.len()
    )
}

fn answer(id: &str) -> String {
    let body = format!(
        r#"{{"id":"{id}","model":"m","choices":[{{"message":{{"content":"Done."}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":10,"completion_tokens":2}}}}"#
    );
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Every file below a directory that holds one of the secrets.
fn leaks(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(leaks(&path));
        } else if let Ok(bytes) = std::fs::read(&path) {
            let holds = |secret: &&&str| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            found.extend(SECRETS.iter().filter(holds).map(|secret| format!("{}: {secret}", path.display())));
        }
    }
    found
}

#[test]
fn keys_reach_their_upstream_and_neither_store_nor_log() {
    let relaying = Relaying::start();
    let mut client = relaying.client();
    client.send(&ask("/v1/chat/completions", "ses_1", ""));
    let mut upstream = relaying.accept();
    assert!(upstream.read_to(END).contains(SECRETS[0]));
    upstream.send(&answer("c-1"));
    client.read_to("}}");
    client.send(&ask("/lab/v1/chat/completions", "ses_1", CALL));
    let mut lab = relaying.accept();
    let head = lab.read_to(END);
    assert!(head.contains(SECRETS[1]) && !head.contains(SECRETS[0]), "{head}");
    lab.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nnope");
    client.read_to("nope");
    client.send(&ask("/down/v1/chat/completions", "ses_1", CALL));
    assert!(client.read_to("\r\n").contains("502"));
    relaying.event_kinds("ses_1", 7);
    assert_eq!(relaying.world.run(&["stop"]).code, Some(0));
    assert!(relaying.world.state().join("belay.db").exists());
    assert_eq!(leaks(&relaying.world.state()), Vec::<String>::new());
}

#[test]
fn a_runs_key_goes_where_its_user_wanted_even_before_a_new_process_hears_of_the_run() {
    let Relaying { world, serve, upstream } = Relaying::start();
    let own = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstreams = [("openai".to_owned(), format!("http://{}", own.local_addr().unwrap()))].into();
    let run = "codex:0190aaaa-0000-7000-8000-000000000000".to_owned();
    let begin = RunRequest { run, begins: true, upstreams, ..RunRequest::default() };
    client(&world).run(&begin).unwrap();
    serve.kill();
    let again = Relaying { serve: Serve::start(&world), world, upstream };
    // It stays open: a peer that has closed its connection cannot be identified and is refused.
    let mut client = again.client();
    client.send(&format!("GET /s/{}/openai/v1/models HTTP/1.1\r\nHost: h\r\nX-Api-Key: own\r\n\r\n", begin.run));
    let mut asked = Wire::new(within("a request where it was to go", move || own.accept().unwrap().0));
    assert!(asked.read_to("\r\n\r\n").contains("X-Api-Key: own"));
}

#[test]
fn a_persons_pause_refuses_the_next_request_and_a_resume_lets_it_go() {
    let relaying = Relaying::start();
    let mut client = relaying.client();
    let mut upstream = relaying.turn(&mut client, "", "c-1");
    relaying.event_kinds("ses_1", 4);
    assert_eq!(relaying.world.run(&["pause", "ses_1"]).code, Some(0));
    client.send(&ask("/v1/chat/completions", "ses_1", CALL));
    let refusal = client.read_to(r#""type":"error"}"#);
    assert!(refusal.starts_with("HTTP/1.1 402 ") && refusal.contains("belay resume"), "{refusal}");
    assert_eq!(relaying.world.run(&["resume", "ses_1"]).code, Some(0));
    client.send(&ask("/v1/chat/completions", "ses_1", CALL));
    upstream = relaying.next(upstream);
    upstream.read_to(END);
    upstream.send(&answer("c-2"));
    client.read_to("}}");
}

#[test]
fn a_pause_by_another_process_refuses_the_next_request() {
    let relaying = Relaying::start();
    let mut client = relaying.client();
    let _upstream = relaying.turn(&mut client, "", "c-1");
    relaying.event_kinds("ses_1", 4);
    let url = StoreUrl::local(relaying.world.paths().database());
    let store = belay_store::open(&url, Access::Write).unwrap();
    let held = store.resolve("ses_1").unwrap();
    let mut other = Engine::new(store, EngineOptions::default());
    other.decide(&held, OperatorDecision::Pause, "", None).unwrap();
    client.send(&ask("/v1/chat/completions", "ses_1", CALL));
    let refusal = client.read_to(r#""type":"error"}"#);
    assert!(refusal.starts_with("HTTP/1.1 402 ") && refusal.contains("belay resume"), "{refusal}");
}

#[test]
fn a_process_killed_in_the_middle_of_a_stream_leaves_a_clean_break_and_nothing_twice() {
    let relaying = Relaying::start();
    let mut client = relaying.client();
    client.send(&ask("/v1/chat/completions", "ses_1", CALL));
    let mut upstream = relaying.accept();
    upstream.read_to(END);
    upstream
        .send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n");
    client.read_to("data:\r\n");
    // The events of the request are logged before the response is complete.
    let before = relaying.event_kinds("ses_1", 5);
    let Relaying { world, serve, upstream: listener } = relaying;
    serve.kill();
    let mut rest = Vec::new();
    let _ = client.0.read_to_end(&mut rest);
    assert!(rest.is_empty(), "nothing is made up: {}", String::from_utf8_lossy(&rest));
    let mut gone = Vec::new();
    let _ = upstream.0.read_to_end(&mut gone);

    let relaying = Relaying { serve: Serve::start(&world), world, upstream: listener };
    let mut client = relaying.client();
    relaying.turn(&mut client, CALL, "c-2");
    let after = relaying.event_kinds("ses_1", before.len() + 2);
    let count = |kinds: &[String], kind: &str| kinds.iter().filter(|known| *known == kind).count();
    for kind in ["prompt", "tool_called", "tool_returned"] {
        assert_eq!((count(&before, kind), count(&after, kind)), (1, 1), "{kind}: {before:?} {after:?}");
    }
    assert_eq!(count(&after, "model_asked"), 2);
    assert_eq!(count(&after, "model_answered"), 1);
}

/// The start of a stream with 8,000 bytes of text.
fn much() -> String {
    let words: String = (0..1000).map(|n| format!("{n:07} ")).collect();
    let event = format!("data: {{\"id\":\"c-2\",\"choices\":[{{\"delta\":{{\"content\":\"{words}\"}}}}]}}\n\n");
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked";
    format!("{head}\r\n\r\n{:x}\r\n{event}\r\n", event.len())
}

#[test]
fn a_budget_holds_from_the_first_answer_on_and_for_the_first_one_after_a_restart() {
    let Relaying { world, serve, upstream } = Relaying::start();
    serve.kill();
    let args = ["--listen", "127.0.0.1:0", "--set", "detect.budget.session_tokens=1000"];
    let relaying = Relaying { serve: Serve::start_with(&world, &args), world, upstream };
    let cut = |relaying: &Relaying, session: &str, asked: usize| {
        let mut client = relaying.client();
        client.send(&ask("/v1/chat/completions", session, ""));
        let mut upstream = relaying.accept();
        upstream.read_to(END);
        // An immediate response may be faster than the recording of its request.
        wait_for_events(&relaying.world, "opencode", session, &["model_asked"], asked);
        upstream.send(&much());
        assert!(client.read_to("0\r\n\r\n").contains("the budget is used up"));
    };
    cut(&relaying, "ses_1", 1);
    // Another session has spent a little of its own budget.
    let mut client = relaying.client();
    client.send(&ask("/v1/chat/completions", "ses_2", ""));
    let mut upstream = relaying.accept();
    upstream.read_to(END);
    upstream.send(&answer("c-1"));
    client.read_to("}}");
    wait_for_events(&relaying.world, "opencode", "ses_2", &["model_answered"], 1);
    assert_eq!(relaying.world.run(&["budget", "ses_2", "1012tokens"]).code, Some(0));
    let Relaying { world, serve, upstream } = relaying;
    serve.kill();
    let relaying = Relaying { serve: Serve::start(&world), world, upstream };
    cut(&relaying, "ses_2", 2);
}

#[test]
fn an_answer_that_was_cut_is_on_record_and_the_next_request_is_refused() {
    let relaying = Relaying::start();
    let world = &relaying.world;
    let mut client = relaying.client();
    let mut upstream = relaying.turn(&mut client, "", "c-1");
    wait_for_events(world, "opencode", "ses_1", &["model_answered"], 1);
    assert_eq!(world.run(&["budget", "ses_1", "1012tokens"]).code, Some(0));
    client.send(&ask("/v1/chat/completions", "ses_1", CALL));
    upstream = relaying.next(upstream);
    upstream.read_to(END);
    upstream.send(&much());
    client.read_to("0\r\n\r\n");

    wait_for_events(world, "opencode", "ses_1", &["note"], 1);
    let output = world.run(&["events", "tail", "ses_1", "--json", "--kind", "model_answered", "--kind", "note"]);
    let events: Vec<serde_json::Value> = output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [_, cut, remark] = events.as_slice() else { panic!("two answers and a remark: {events:?}") };
    assert_eq!(cut["event"]["stop"], "belay_budget", "{cut}");
    // 8,000 bytes at about four bytes per token.
    assert_eq!(cut["event"]["usage"]["output"], 2000, "{cut}");
    let text = remark["event"]["text"].to_string();
    assert!(text.contains("Belay ended this response here: the budget is used up"), "{remark}");
    let spent = world.run(&["show", "ses_1", "--json"]).json();
    assert_eq!(spent["session"]["state"], "paused", "what was said before the cut has been spent: {spent}");
    client.send(&ask("/v1/chat/completions", "ses_1", CALL));
    assert!(client.read_to("\r\n").starts_with("HTTP/1.1 402 "));
}

#[test]
fn an_answer_that_does_not_tell_what_it_cost_uses_up_a_budget_too() {
    let relaying = Relaying::start();
    let mut client = relaying.client();
    let mut upstream = relaying.turn(&mut client, "", "c-1");
    wait_for_events(&relaying.world, "opencode", "ses_1", &["model_answered"], 1);
    assert_eq!(relaying.world.run(&["budget", "ses_1", "50tokens"]).code, Some(0));
    client.send(&ask("/v1/chat/completions", "ses_1", CALL));
    upstream = relaying.next(upstream);
    upstream.read_to(END);
    // Twelve tokens are spent; the request has about eighty, and the response one word.
    let event = "data: {\"id\":\"c-2\",\"choices\":[{\"delta\":{\"content\":\"Done\"}}]}\n\ndata: [DONE]\n\n";
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length";
    upstream.send(&format!("{head}: {}\r\n\r\n{event}", event.len()));
    client.read_to("[DONE]\n\n");
    wait_for_events(&relaying.world, "opencode", "ses_1", &["model_answered"], 2);
    client.send(&ask("/v1/chat/completions", "ses_1", CALL));
    assert!(client.read_to("\r\n").starts_with("HTTP/1.1 402 "));
}

#[test]
fn limit_headers_become_the_quotas_of_the_account() {
    let relaying = Relaying::start();
    let mut client = relaying.client();
    client.send(&ask("/v1/chat/completions", "ses_1", ""));
    let mut upstream = relaying.accept();
    upstream.read_to(END);
    let limits = "\r\nx-ratelimit-limit-tokens: 1000\r\nx-ratelimit-remaining-tokens: 250\r\n\
                  x-ratelimit-reset-tokens: 6m0s\r\n";
    upstream.send(&answer("r1").replacen("\r\n", limits, 1));
    assert!(client.read_to("}}").contains("x-ratelimit-remaining-tokens: 250"), "the agent gets them unchanged");
    wait_for_events(&relaying.world, "opencode", "ses_1", &["model_answered"], 1);
    let body = |path: &str| -> serde_json::Value {
        serde_json::from_str(relaying.serve.get(path).split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    let quota = &body("/api/v1/quotas")["quotas"][0];
    assert_eq!((&quota["limit"], &quota["used_percent"]), (&"tokens".into(), &75.0.into()), "{quota}");
    assert!(quota["account"].as_str().unwrap().starts_with("OpenAI") && quota["resets_at"].is_string(), "{quota}");
    assert_eq!(&body("/api/v1/overview")["today"]["quotas"][0], quota);
}
