//! Tests of the model over a socket.

mod client;

use std::io::Read as _;
use std::net::SocketAddr;

use belay_scripted_model::{Action, Api, ErrorBody, ExchangeEnd, Kind, Options, Script, ScriptedModel};
use client::{TIMEOUT, ask, hang_up, post, send};
use serde_json::{Value, json};

fn started(script: Script) -> ScriptedModel {
    ScriptedModel::start(script).expect("a free port")
}

/// A Messages request that offers a shell.
fn messages(stream: bool) -> Vec<u8> {
    let bash = json!({"name": "Bash", "input_schema": {"properties": {"command": {"type": "string"}}}});
    let question = json!({"role": "user", "content": "Fix it"});
    json!({"model": "m", "stream": stream, "messages": [question], "tools": [bash]}).to_string().into_bytes()
}

fn turn(address: SocketAddr) -> client::Reply {
    post(address, "/v1/messages?beta=true", &[], &messages(false))
}

fn reply_text(reply: &client::Reply) -> String {
    reply.json()["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn plays_its_turns_in_order_and_then_repeats_the_last_word() {
    let model = started(Script::new().shell("false").repeat(2).text("done").otherwise("over"));
    let commands: Vec<Value> =
        (0..2).map(|_| turn(model.address()).json()["content"][0]["input"]["command"].clone()).collect();
    assert_eq!(commands, ["false", "false"]);
    assert_eq!(model.remaining(), 1);
    let words: Vec<String> = (0..3).map(|_| reply_text(&turn(model.address()))).collect();
    assert_eq!(words, ["done", "over", "over"]);
    assert_eq!((model.remaining(), model.turns().len()), (0, 5));
}

#[test]
fn a_repetition_ends_when_the_test_says_so() {
    let model = started(Script::new().text("again").repeat(30).text("next").text("last"));
    model.end_repetition();
    assert_eq!([turn(model.address()), turn(model.address())].map(|reply| reply_text(&reply)), ["again", "again"]);
    model.end_repetition();
    assert_eq!((reply_text(&turn(model.address())).as_str(), model.remaining()), ("next", 1));
    model.end_repetition();
    assert_eq!((reply_text(&turn(model.address())).as_str(), model.remaining()), ("last", 0));
}

#[test]
fn equal_runs_give_equal_bytes_and_another_seed_other_ids() {
    let run = |seed| {
        let model = started(Script::new().seed(seed).calls([Action::shell("a"), Action::shell("b")]).text("end"));
        (0..2).map(|_| turn(model.address()).text()).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    let both = run(1)[0].clone();
    let ids: Vec<&str> = both.match_indices("toolu_").map(|(at, _)| &both[at..at + 30]).collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn the_same_script_speaks_every_api_under_any_prefix() {
    let schema = json!({"properties": {"command": {"type": "string"}}});
    let function = json!({"name": "bash", "parameters": schema});
    let openai = json!({"type": "function", "name": "bash", "parameters": schema});
    let cases = [
        (Api::Messages, "/v1/messages", json!({"tools": [{"name": "Bash", "input_schema": schema}]})),
        (Api::Chat, "/s/key/v1/chat/completions", json!({"tools": [{"type": "function", "function": function}]})),
        (Api::Responses, "/openai/v1/responses", json!({"tools": [openai]})),
        (Api::Gemini, "/v1beta/models/g:generateContent", json!({"tools": [{"functionDeclarations": [function]}]})),
        (
            Api::Gemini,
            "/v1beta/models/g:streamGenerateContent?alt=sse",
            json!({"tools": [{"functionDeclarations": [function]}]}),
        ),
    ];
    for (api, path, mut body) in cases {
        for stream in [false, true] {
            body["stream"] = json!(stream && api != Api::Gemini);
            let model = started(Script::new().shell("ls -la"));
            let reply = post(model.address(), path, &[], body.to_string().as_bytes());
            assert!(reply.status == 200 && reply.complete, "{path}");
            assert!(reply.text().contains("ls -la"), "{path}: {}", reply.text());
            let streamed = stream && api != Api::Gemini || path.contains("stream");
            assert_eq!(reply.head.contains("text/event-stream"), streamed, "{path}");
            assert_eq!((model.turns()[0].api, model.turns()[0].calls.len()), (Some(api), 1));
        }
    }
}

#[test]
fn side_traffic_is_answered_and_takes_no_turn() {
    let model = started(Script::new().text("the only turn"));
    let title = json!({"messages": [{"role": "user", "content": "Generate a title"}]}).to_string();
    let kind_of = |method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]| {
        let reply = ask(model.address(), method, path, headers, body);
        (reply.status, model.requests().last().expect("recorded").kind)
    };
    assert_eq!(kind_of("POST", "/v1/chat/completions", &[], title.as_bytes()), (200, Kind::Aside));
    assert_eq!(kind_of("POST", "/v1/messages/count_tokens", &[], b"{}"), (200, Kind::TokenCount));
    assert_eq!(kind_of("POST", "/v1beta/models/g:countTokens", &[], b"{}"), (200, Kind::TokenCount));
    assert_eq!(kind_of("GET", "/v1/models?limit=9", &[], b""), (200, Kind::Models));
    assert_eq!(kind_of("GET", "/v1beta/models", &[], b""), (200, Kind::Models));
    let upgrade = [("Upgrade", "websocket"), ("Connection", "Upgrade")];
    assert_eq!(kind_of("GET", "/v1/responses", &upgrade, b""), (426, Kind::WebSocket));
    assert_eq!(kind_of("GET", "/api/hello", &[], b""), (404, Kind::Unknown));
    assert_eq!((model.remaining(), model.complaints()), (1, vec![]));
}

#[test]
fn codex_titles_are_asides_that_follow_the_wanted_schema() {
    let model = started(Script::new().text("the only turn"));
    let schema =
        json!({"type": "object", "required": ["title"], "properties": {"title": {"type": "string", "maxLength": 8}}});
    let body = json!({
        "tools": [{"type": "custom", "name": "apply_patch"}], "text": {"format": {"schema": schema}},
    });
    let metadata = [("x-codex-turn-metadata", r#"{"thread_source":"thread_title"}"#)];
    let reply = post(model.address(), "/v1/responses", &metadata, body.to_string().as_bytes());
    assert_eq!(model.requests()[0].kind, Kind::Aside);
    let title = reply.json()["output"][0]["content"][0]["text"].as_str().expect("text").to_owned();
    assert_eq!(title, r#"{"title":"Scripted"}"#);
}

#[test]
fn agents_that_send_no_tools_can_play_too() {
    let model = started(Script::new().without_tools().text("an edit, in words"));
    let reply = post(model.address(), "/v1/messages", &[], b"{}");
    assert_eq!(reply_text(&reply), "an edit, in words");
}

#[test]
fn branches_play_their_own_turns_one_copy_per_header_value() {
    let script = Script::new().text("main").branch("x-agent", Script::new().text("one").text("two"));
    let model = started(script);
    let words =
        |agent: &str| reply_text(&post(model.address(), "/v1/messages", &[("X-Agent", agent)], &messages(false)));
    assert_eq!([words("a"), words("b"), words("a")], ["one", "one", "two"]);
    assert_eq!(reply_text(&turn(model.address())), "main");
}

#[test]
fn requests_are_recorded_byte_for_byte() {
    let dir = tempfile::tempdir().expect("a directory");
    let options = Options { dir: Some(dir.path().into()), ..Options::default() };
    let model = ScriptedModel::start_with(Script::new(), options).expect("started");
    let body = messages(false);
    post(model.address(), "/v1/messages?beta=true", &[("X-MiXeD-Case", "a  b"), ("x-empty", "")], &body);
    let [request] = &model.requests()[..] else { panic!("one request") };
    let length = body.len();
    let head = format!(
        "POST /v1/messages?beta=true HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\
         X-MiXeD-Case: a  b\r\nx-empty: \r\n\r\n"
    );
    assert_eq!(String::from_utf8_lossy(&request.head), head);
    assert_eq!((&request.wire_body, request.path.as_str()), (&body, "/v1/messages?beta=true"));
    assert_eq!(request.headers[3], ("X-MiXeD-Case".into(), "a  b".into()));
    assert_eq!(request.header("x-mixed-case"), Some("a  b"));
    let file = std::fs::read_to_string(dir.path().join("0001.json")).expect("a file");
    let file: Value = serde_json::from_str(&file).expect("JSON");
    assert_eq!((&file["kind"], &file["body"]["model"]), (&json!("Turn(0)"), &json!("m")));
}

#[test]
fn heads_stay_apart_on_a_connection_that_is_used_again() {
    let model = started(Script::new());
    let body = messages(false);
    let request = |path: &str| format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
    let mut stream = std::net::TcpStream::connect(model.address()).expect("connected");
    stream.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
    for (count, path) in ["/a/v1/messages", "/b/v1/messages"].into_iter().enumerate() {
        std::io::Write::write_all(&mut stream, &[request(path).as_bytes(), &body].concat()).expect("sent");
        model.wait_for_ends(count + 1, TIMEOUT).expect("answered");
        let mut answer = [0; 4096];
        assert!(stream.read(&mut answer).expect("an answer") > 0);
    }
    let heads: Vec<String> =
        model.requests().iter().map(|request| String::from_utf8_lossy(&request.head).into_owned()).collect();
    assert_eq!(heads, [request("/a/v1/messages"), request("/b/v1/messages")]);
}

#[test]
fn errors_come_in_the_shape_of_the_api_or_exactly_as_written() {
    let script = Script::new()
        .error(402, "Belay paused this session")
        .header("x-should-retry", "false")
        .error(529, "")
        .body(ErrorBody::Json(json!({"odd": true})))
        .error(200, "")
        .body(ErrorBody::Text("<html>".into()));
    let model = started(script);
    let reply = turn(model.address());
    let error = json!({"type": "error", "error": {"type": "billing_error", "message": "Belay paused this session"}});
    assert_eq!((reply.status, reply.json()), (402, error));
    assert!(reply.head.contains("x-should-retry: false"));
    let reply = turn(model.address());
    assert_eq!((reply.status, reply.json()), (529, json!({"odd": true})));
    let reply = turn(model.address());
    assert_eq!((reply.status, reply.text().as_str()), (200, "<html>"));
    assert!(reply.head.contains("text/plain"));
}

#[test]
fn a_wish_without_a_tool_and_a_body_without_sense_are_complaints() {
    let model = started(Script::new().edit("/a", "x", "y"));
    let reply = turn(model.address());
    assert_eq!(reply.status, 400);
    assert!(reply.text().contains("cannot edit a file with the tools offered (Bash)"));
    assert_eq!(post(model.address(), "/v1/messages", &[], b"{not json").status, 400);
    assert_eq!(post(model.address(), "/v1/messages", &[], b"[]").status, 400);
    assert_eq!(model.complaints().len(), 3);
}

#[test]
fn a_stream_split_at_every_byte_is_the_same_stream() {
    let words = || Script::new().shell("echo ü").with_text("Größe, 🧗!");
    let whole = post(started(words()).address(), "/v1/messages", &[], &messages(true));
    for bytes in [1, 2, 7] {
        let split = post(started(words().split(bytes)).address(), "/v1/messages", &[], &messages(true));
        assert!(split.complete);
        assert_eq!(split.body, whole.body);
    }
}

#[test]
fn a_dropped_connection_ends_where_the_script_says() {
    let model = started(Script::new().text("a").drop_after(0).text("b").drop_after(3).text("c"));
    let stream = |_| post(model.address(), "/v1/messages", &[], &messages(true));
    let replies: Vec<_> = (0..3).map(stream).collect();
    assert_eq!((replies[0].status, replies[0].complete), (0, false));
    assert_eq!((replies[1].status, replies[1].complete), (200, false));
    assert_eq!(replies[1].text().matches("event: ").count(), 3);
    assert!(replies[2].complete);
    let fates: Vec<ExchangeEnd> = model.requests().iter().map(|request| request.fate).collect();
    assert_eq!(fates, [ExchangeEnd::Dropped, ExchangeEnd::Dropped, ExchangeEnd::Answered]);
}

#[test]
fn a_held_answer_waits_for_its_release() {
    let model = started(Script::new().text("first").hold_after(0).text("second").hold_after(2));
    for before in 0..2 {
        let mut stream = send(model.address(), "POST", "/v1/messages", &[], &messages(true));
        let turns = model.wait_for_turns(before + 1, TIMEOUT).expect("a turn");
        assert_eq!(turns[before].fate, ExchangeEnd::Open);
        model.release();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains("message_stop"));
    }
    assert_eq!(model.wait_for_ends(2, TIMEOUT).expect("both").len(), 2);
}

#[test]
fn a_client_that_leaves_is_noticed_before_and_during_the_answer() {
    let model = started(Script::new().text("never").hold_after(0).repeat_text("again ", 1_000_000));
    let waiting = send(model.address(), "POST", "/v1/messages", &[], &messages(true));
    model.wait_for_turns(1, TIMEOUT).expect("a turn");
    hang_up(&waiting);
    let ended = model.wait_for_ends(1, TIMEOUT).expect("noticed");
    assert_eq!(ended[0].fate, ExchangeEnd::ClientGone { after: 0 });
    let mut reading = send(model.address(), "POST", "/v1/messages", &[], &messages(true));
    let mut some = [0; 2000];
    reading.read_exact(&mut some).expect("a beginning");
    hang_up(&reading);
    let ended = model.wait_for_ends(2, TIMEOUT).expect("noticed");
    assert!(matches!(ended[1].fate, ExchangeEnd::ClientGone { after } if after > 0 && after < 1_000_000));
}

#[test]
fn waiting_for_too_many_says_how_many_came() {
    let model = started(Script::new());
    turn(model.address());
    let error = model.wait_for_requests(2, std::time::Duration::from_millis(1)).expect_err("one request only");
    assert_eq!(error.to_string(), "only 1 of 2 requests came within 1ms");
}

#[cfg(feature = "compressed")]
#[test]
fn compressed_requests_are_read_and_recorded_both_ways() {
    use std::io::Write as _;

    let body = messages(false);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&body).expect("compressed");
    let gzip = gzip.finish().expect("compressed");
    let zstd = ruzstd::encoding::compress_to_vec(body.as_slice(), ruzstd::encoding::CompressionLevel::Fastest);
    for (encoding, wire) in [("gzip", gzip), ("zstd", zstd)] {
        let model = started(Script::new().text("understood"));
        let reply = post(model.address(), "/v1/messages", &[("Content-Encoding", encoding)], &wire);
        assert_eq!(reply_text(&reply), "understood", "{encoding}");
        let [request] = &model.requests()[..] else { panic!("one request") };
        assert_eq!((&request.wire_body, &request.body), (&wire, &body));
        let broken = post(model.address(), "/v1/messages", &[("Content-Encoding", encoding)], &wire[..20]);
        assert!(broken.status == 400 && broken.text().contains(encoding), "{}", broken.text());
    }
}

#[cfg(feature = "compressed")]
#[test]
fn streams_are_compressed_for_those_who_accept_it() {
    use belay_scripted_model::ContentEncoding;
    use std::io::Read as _;

    for packing in [ContentEncoding::Gzip, ContentEncoding::Zstd] {
        let model = started(Script::new().text("understood").packed(packing).text("understood").packed(packing));
        let plain = post(model.address(), "/v1/messages", &[("Accept-Encoding", "identity")], &messages(true));
        assert!(plain.text().contains("understood") && !plain.head.contains("content-encoding"), "{}", plain.head);
        let accepts = [("Accept-Encoding", "br;q=0.1, gzip, zstd")];
        let packed = post(model.address(), "/v1/messages", &accepts, &messages(true));
        assert!(packed.head.contains(&format!("content-encoding: {}", packing.name())), "{}", packed.head);
        let mut text = String::new();
        let read = match packing {
            ContentEncoding::Gzip => flate2::read::GzDecoder::new(&*packed.body).read_to_string(&mut text),
            _ => ruzstd::decoding::StreamingDecoder::new(&*packed.body).expect("a frame").read_to_string(&mut text),
        };
        assert!(read.is_ok() && text.contains("understood") && text.contains("message_stop"), "{text}");
    }
}
