use super::*;
use crate::framing::Framing;

const AGENT: &str = "POST /v1/messages?beta=true HTTP/1.1\r\n\
    Accept: application/json\r\n\
    X-Stainless-Lang:js\r\n\
    x-claude-code-session-id: b3e6\r\n\
    X-Belay-Session: run-1\r\n\
    x-loop-session: s\r\n\
    Connection: keep-alive, X-Hop\r\n\
    X-Hop: 1\r\n\
    TE: trailers\r\n\
    HOST: 127.0.0.1:8787\r\n\
    X-Api-Key: sk-client\r\n\
    Content-Length: 12\r\n\r\n";

fn relayed(raw: &str, rewrite: &HeadRewrite<'_>) -> String {
    let mut room = HeaderStorage::new();
    let head = RequestHead::parse(raw.as_bytes(), &mut room).unwrap().unwrap();
    String::from_utf8(head.rewrite(rewrite)).unwrap()
}

#[test]
fn a_request_keeps_order_case_and_spacing_of_all_lines_that_are_not_this_hops() {
    let rewrite =
        HeadRewrite { target: &["/api", "/v1/messages?beta=true"], host: "api.example.com", credential: None };
    assert_eq!(
        relayed(AGENT, &rewrite),
        "POST /api/v1/messages?beta=true HTTP/1.1\r\n\
         Accept: application/json\r\n\
         X-Stainless-Lang:js\r\n\
         x-claude-code-session-id: b3e6\r\n\
         HOST: api.example.com\r\n\
         X-Api-Key: sk-client\r\n\
         Content-Length: 12\r\n\r\n"
    );
}

#[test]
fn a_configured_credential_takes_the_place_of_every_other() {
    let rewrite = HeadRewrite { target: &["/x"], host: "h", credential: Some(("Authorization", "Bearer sk-ours")) };
    let head = relayed("GET /x HTTP/1.1\r\nauthorization: Bearer sk-a\r\nx-goog-api-key: b\r\n\r\n", &rewrite);
    assert_eq!(head, "GET /x HTTP/1.1\r\nhost: h\r\nAuthorization: Bearer sk-ours\r\n\r\n");
}

#[test]
fn lines_that_describe_the_message_cannot_be_named_away() {
    let rewrite = HeadRewrite { target: &["/x"], host: "h", credential: None };
    let head =
        relayed("GET /x HTTP/1.1\r\nHost: a\r\nAuthorization: k\r\nConnection: authorization, host\r\n\r\n", &rewrite);
    assert_eq!(head, "GET /x HTTP/1.1\r\nHost: h\r\nAuthorization: k\r\n\r\n");
}

#[test]
fn what_two_readers_could_read_differently_is_refused() {
    for raw in [
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length : 1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length:\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 0x1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding : chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: \x0bchunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding:\r\n chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nX: a\rContent-Length: 1\r\n\r\n",
        "POST / HTTP/1.1\r\nX: a\0\r\n\r\n",
        "POST / HTTP/1.1\r\n: nameless\r\n\r\n",
        "POST /a b HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1 \r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
        "GET / HTTP/2.0\r\n\r\n",
    ] {
        let mut room = HeaderStorage::new();
        assert!(RequestHead::parse(raw.as_bytes(), &mut room).is_err(), "{raw:?}");
    }
}

#[test]
fn a_head_that_is_not_complete_waits_for_more() {
    for cut in 0..AGENT.len() {
        let mut room = HeaderStorage::new();
        assert!(matches!(RequestHead::parse(&AGENT.as_bytes()[..cut], &mut room), Ok(None)), "{cut}");
    }
}

fn response(raw: &str, method: &str, close: bool) -> (Framing, String) {
    let mut room = HeaderStorage::new();
    let head = ResponseHead::parse(raw.as_bytes(), &mut room).unwrap().unwrap();
    let mut out = Vec::new();
    head.write_rewritten(close, &mut out);
    (head.framing(method), String::from_utf8(out).unwrap())
}

#[test]
fn an_answer_keeps_its_status_line_and_all_lines_that_are_not_this_hops() {
    let raw = "HTTP/1.1 299 Odd But Fine\r\nX-RateLimit: 5\r\nKeep-Alive: timeout=5\r\nConnection: keep-alive\r\n\
               Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n";
    let relayed = "HTTP/1.1 299 Odd But Fine\r\nX-RateLimit: 5\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n";
    assert_eq!(response(raw, "POST", false), (Framing::Chunked, relayed.to_owned()));
}

#[test]
fn the_end_of_an_answer_depends_on_question_and_status() {
    let framing = |raw, method| response(raw, method, false).0;
    let sized = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(framing(sized, "POST"), Framing::Length(5));
    assert_eq!(framing(sized, "HEAD"), Framing::Empty);
    assert_eq!(framing("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "GET"), Framing::Empty);
    assert_eq!(framing("HTTP/1.1 204 No Content\r\n\r\n", "GET"), Framing::Empty);
    assert_eq!(framing("HTTP/1.1 200 OK\r\n\r\n", "GET"), Framing::UntilClose);
}

#[test]
fn only_the_last_coding_says_where_an_answer_ends_and_all_of_them_how_it_is_packed() {
    let read = |lines: &str| {
        let raw = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
        let mut room = HeaderStorage::new();
        let head = ResponseHead::parse(raw.as_bytes(), &mut room).unwrap().unwrap();
        (head.framing("POST"), head.content_encoding(), head.has_unambiguous_length())
    };
    let packed = |encoding: &str| Some(encoding.to_owned());
    for (lines, framing, encoding, plain) in [
        ("Transfer-Encoding: Chunked\r\n", Framing::Chunked, None, true),
        ("Transfer-Encoding: chunked\r\nContent-Encoding: br\r\n", Framing::Chunked, packed("br"), true),
        ("Content-Encoding: identity\r\n", Framing::UntilClose, None, true),
        ("Transfer-Encoding: gzip, chunked\r\n", Framing::Chunked, packed("gzip"), false),
        ("Transfer-Encoding: gzip,chunked\r\nContent-Encoding: br\r\n", Framing::Chunked, packed("br, gzip"), false),
        ("Content-Encoding: gzip\r\nContent-Encoding: br\r\n", Framing::UntilClose, packed("gzip, br"), true),
        ("Transfer-Encoding: identity\r\n", Framing::UntilClose, None, false),
        ("Transfer-Encoding: gzip\r\n", Framing::UntilClose, packed("gzip"), false),
        ("Transfer-Encoding: chunked, gzip\r\n", Framing::UntilClose, packed("chunked, gzip"), false),
        ("Transfer-Encoding: chunked, chunked\r\n", Framing::UntilClose, packed("chunked, chunked"), false),
    ] {
        assert_eq!(read(lines), (framing, encoding, plain), "{lines}");
    }
}

#[test]
fn the_last_answer_says_so() {
    assert_eq!(response("HTTP/1.0 200 OK\r\n\r\n", "GET", true).1, "HTTP/1.0 200 OK\r\nconnection: close\r\n\r\n");
}
