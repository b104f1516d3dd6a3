use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};

use belay_core::{SessionKey, Timestamp};

use super::{Webhook, WebhookError, WebhookFormat, body, key, signature};
use crate::alert::{Alert, AlertKind};

fn news(kind: AlertKind) -> Alert {
    Alert {
        id: "msg_incident_opened_inc_1".into(),
        kind,
        session: SessionKey::new("codex", "01a1"),
        at: Timestamp::parse("2026-11-15T18:00:00Z").expect("a time"),
        pattern: Some("exact_repeat".into()),
        sentence: "The same call was made 5 times in a row: `npm test`.".into(),
        incident: Some("inc-1".into()),
        project: Some("/home/user/project".into()),
    }
}

#[test]
fn signs_as_the_specification_does() {
    // The example of the Standard Webhooks specification.
    let secret = key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a secret");
    let signed = signature(&secret.0, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", r#"{"test": 2432232314}"#);
    assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    for odd in ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!", "whsec_c2hvcnQ="] {
        assert!(matches!(key(odd), Err(WebhookError::Secret)), "{odd}");
    }
}

#[test]
fn bodies_of_both_shapes() {
    insta::assert_snapshot!(format!("{:#}", body(WebhookFormat::Belay, &news(AlertKind::Paused), "box")), @r#"
    {
      "data": {
        "incident": "inc-1",
        "pattern": "exact_repeat",
        "project": "/home/user/project",
        "sentence": "The same call was made 5 times in a row: `npm test`.",
        "session": {
          "agent": "codex",
          "id": "01a1"
        },
        "text": "The same call was made 5 times in a row: `npm test`. Let it go on with `belay resume codex:01a1`."
      },
      "timestamp": "2026-11-15T18:00:00.000Z",
      "type": "session.paused"
    }
    "#);
    insta::assert_snapshot!(format!("{:#}", body(WebhookFormat::Heartbeat, &news(AlertKind::Paused), "box")), @r#"
    {
      "cwd": "/home/user/project",
      "event": "escalation",
      "host": "box",
      "message": "The same call was made 5 times in a row: `npm test`. Let it go on with `belay resume codex:01a1`.",
      "pattern": "exact-repeat",
      "timestamp": "2026-11-15T18:00:00.000Z"
    }
    "#);
}

fn configured(url: &str) -> Result<Webhook, WebhookError> {
    Webhook::new(url, WebhookFormat::Belay, None, "box".into())
}

#[test]
fn urls_that_no_receiver_has_are_refused() {
    for url in ["ftp://x/", "https://", "https://user:pw@x/", "https://x/a b"] {
        assert!(matches!(configured(url), Err(WebhookError::Url(_))), "{url}");
    }
    assert_eq!(configured("http://93.184.216.34/").unwrap_err(), WebhookError::PlainHttp);
    for url in ["http://127.0.0.1:9/x", "http://[::1]:9/", "http://192.168.1.2/hook?key=1", "https://example.com"] {
        assert!(configured(url).is_ok(), "{url}");
    }
    let described = configured("https://hooks.example.com/T/secret").expect("a webhook").describe();
    assert_eq!(described, "https://hooks.example.com:443/.., unsigned");
}

#[test]
fn every_address_that_upstreams_refuse_is_refused() {
    for refused in belay_net::REFUSED_NETWORKS {
        let host = match refused.network {
            IpAddr::V4(v4) => v4.to_string(),
            IpAddr::V6(v6) => format!("[{v6}]"),
        };
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{host}/");
            assert_eq!(configured(&url).unwrap_err(), WebhookError::Refused(refused.purpose), "{url}");
        }
    }
}

/// A receiver that answers one request; what it got.
fn receive(answer: &'static str) -> (u16, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut got = Vec::new();
        let mut chunk = [0; 1024];
        while !got.ends_with(b"}") {
            let read = stream.read(&mut chunk).expect("bytes");
            assert_ne!(read, 0, "the request ends with its body");
            got.extend_from_slice(&chunk[..read]);
        }
        stream.write_all(answer.as_bytes()).expect("an answer");
        String::from_utf8(got).expect("text")
    });
    (port, served)
}

fn post_to(port: u16) -> Result<(), String> {
    let secret = Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n");
    let webhook = Webhook::new(&format!("http://127.0.0.1:{port}/in?k=v"), WebhookFormat::Belay, secret, "box".into());
    webhook.expect("a webhook").post(&news(AlertKind::Paused), Timestamp::from_millis(1_614_265_330_000))
}

#[test]
fn a_receiver_gets_what_it_can_verify() {
    let (port, served) = receive("HTTP/1.1 204 No Content\r\n\r\n");
    assert_eq!(post_to(port), Ok(()));
    let got = served.join().expect("a request");
    let (head, body) = got.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("POST /in?k=v HTTP/1.1\r\n"), "{head}");
    let header =
        |name: &str| head.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).expect(name).to_owned();
    assert_eq!(header("webhook-id"), "msg_incident_opened_inc_1");
    assert_eq!(header("webhook-timestamp"), "1614265330");
    let secret = key("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a secret");
    assert_eq!(header("webhook-signature"), signature(&secret.0, &header("webhook-id"), "1614265330", body));
}

#[test]
fn failures_say_what_happened() {
    let (port, served) = receive("HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\n\r\n");
    insta::assert_snapshot!(post_to(port).expect_err("refused"), @"the receiver answered 302, a redirect, which is not followed");
    served.join().expect("a request");
    let (port, served) = receive("HTTP/1.1 503 Busy\r\n\r\n");
    insta::assert_snapshot!(post_to(port).expect_err("refused"), @"the receiver answered 503");
    served.join().expect("a request");
    let (port, served) = receive("SSH-2.0-OpenSSH\r\n");
    insta::assert_snapshot!(post_to(port).expect_err("refused"), @"the response is not HTTP: invalid HTTP version");
    served.join().expect("a request");
}
