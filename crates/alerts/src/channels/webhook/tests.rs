use std::net::IpAddr;
use std::time::Duration;

use belay_core::{Subject, Timestamp};

use super::signature::SigningKey;
use super::{Webhook, WebhookError, body};
use crate::alert::{Alert, AlertKind};
use crate::channel::{Channel, DeliveryError};
use crate::test_support::{Request, TEST_TIMEOUT, alert, receiver};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

#[test]
fn signs_as_the_specification_does() {
    // The example of the Standard Webhooks specification.
    let secret = SigningKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a secret");
    let signed = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", r#"{"test": 2432232314}"#);
    assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    for odd in ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!", "whsec_c2hvcnQ="] {
        assert!(SigningKey::parse(odd).is_none(), "{odd}");
    }
}

#[test]
fn bodies_of_both_formats() {
    insta::assert_snapshot!(format!("{:#}", body::belay(&alert(AlertKind::Paused), "box")), @r#"
    {
      "data": {
        "incident": "inc-1",
        "pattern": "exact_repeat",
        "project": "/home/user/project",
        "sentence": "The same call was made 5 times in a row: `npm test`.",
        "session": {
          "agent": "agent",
          "id": "01a1"
        },
        "subject": {
          "session": {
            "agent": "agent",
            "id": "01a1"
          },
          "type": "session"
        },
        "text": "The same call was made 5 times in a row: `npm test`. Resume it with `belay resume agent:01a1`."
      },
      "timestamp": "2026-11-15T18:00:00.000Z",
      "type": "session.paused"
    }
    "#);
    insta::assert_snapshot!(format!("{:#}", body::heartbeat(&alert(AlertKind::Paused), "box")), @r#"
    {
      "cwd": "/home/user/project",
      "event": "escalation",
      "host": "box",
      "message": "The same call was made 5 times in a row: `npm test`. Resume it with `belay resume agent:01a1`.",
      "pattern": "exact-repeat",
      "timestamp": "2026-11-15T18:00:00.000Z"
    }
    "#);
}

#[test]
fn bodies_about_a_review_task_have_no_session() {
    let failed = Alert {
        subject: Some(Subject::review("r-7f3k")),
        pattern: None,
        incident: None,
        sentence: "\"Fix the parser\": Failed in the build of round 1: out of memory.".into(),
        ..alert(AlertKind::ReviewFailed)
    };
    insta::assert_snapshot!(format!("{:#}", body::belay(&failed, "box")), @r#"
    {
      "data": {
        "incident": null,
        "pattern": null,
        "project": "/home/user/project",
        "sentence": "\"Fix the parser\": Failed in the build of round 1: out of memory.",
        "subject": {
          "id": "r-7f3k",
          "type": "review"
        },
        "text": "\"Fix the parser\": Failed in the build of round 1: out of memory. Details: `belay review show r-7f3k`."
      },
      "timestamp": "2026-11-15T18:00:00.000Z",
      "type": "review.failed"
    }
    "#);
    let body = body::heartbeat(&failed, "box");
    assert_eq!((&body["event"], &body["pattern"]), (&"escalation".into(), &"review".into()));
}

fn configured(url: &str) -> Result<Webhook, WebhookError> {
    Webhook::new(url, body::belay, None, "box".into())
}

#[test]
fn invalid_urls_are_refused() {
    for url in ["ftp://x/", "https://", "https://user:pw@x/", "https://x/a b"] {
        assert!(matches!(configured(url), Err(WebhookError::Url(_))), "{url}");
    }
    assert!(matches!(configured("http://93.184.216.34/"), Err(WebhookError::PlainHttp)));
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
            let error = configured(&url).expect_err("refused");
            assert!(matches!(error, WebhookError::Refused(purpose) if purpose == refused.purpose), "{url}");
        }
    }
}

/// Delivers to a receiver that handles the request with `handle`.
fn deliver(timeout: Duration, handle: impl FnOnce(Request)) -> Result<(), DeliveryError> {
    let (port, requests) = receiver();
    let url = format!("http://127.0.0.1:{port}/in?k=v");
    let mut webhook = Webhook::new(&url, body::belay, Some(&format!("{SECRET}\n")), "box".into()).expect("a webhook");
    webhook.timeout = timeout;
    let delivering = std::thread::spawn(move || {
        webhook.deliver(&alert(AlertKind::Paused), Timestamp::from_millis(1_614_265_330_000))
    });
    handle(requests.recv_timeout(TEST_TIMEOUT).expect("a request"));
    delivering.join().expect("a result")
}

fn deliver_with_response(response: &str) -> Result<(), DeliveryError> {
    deliver(TEST_TIMEOUT, |request| drop(request.respond(response)))
}

#[test]
fn a_receiver_can_verify_the_request() {
    let mut text = String::new();
    let delivered = deliver(TEST_TIMEOUT, |request| text = request.respond("HTTP/1.1 204 No Content\r\n\r\n"));
    assert_eq!(delivered, Ok(()));
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("POST /in?k=v HTTP/1.1\r\n"), "{head}");
    let header =
        |name: &str| head.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).expect(name).to_owned();
    assert_eq!(header("webhook-id"), "msg_incident_opened_inc_1");
    assert_eq!(header("webhook-timestamp"), "1614265330");
    let key = SigningKey::parse(SECRET).expect("a secret");
    assert_eq!(header("webhook-signature"), key.sign(&header("webhook-id"), "1614265330", body));
}

#[test]
fn errors_state_what_happened() {
    let error = |response| deliver_with_response(response).expect_err("an error");
    insta::assert_snapshot!(error("HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\n\r\n"), @"the receiver responded 302, a redirect, which is not followed");
    insta::assert_snapshot!(error("HTTP/1.1 500 Internal Server Error\r\n\r\n"), @"the receiver responded 500");
    insta::assert_snapshot!(error("SSH-2.0-OpenSSH\r\n"), @"the response is not HTTP: invalid HTTP version");
}

#[test]
fn a_receiver_that_never_responds_times_out() {
    let mut hanging = None;
    let delivered = deliver(Duration::from_millis(50), |request| hanging = Some(request));
    assert_eq!(delivered, Err(DeliveryError("timed out".to_owned())));
}

#[test]
fn a_slow_response_counts_if_it_is_complete_in_time() {
    let delivered = deliver(TEST_TIMEOUT, |request| request.respond_bytewise("HTTP/1.1 200 OK\r\n\r\n"));
    assert_eq!(delivered, Ok(()));
    // The deadline covers the whole response, not each read.
    let delivered = deliver(Duration::from_millis(50), |request| request.respond_endlessly("HTTP/1.1 200 OK\r\nx: "));
    assert!(delivered.is_err(), "{delivered:?}");
}
