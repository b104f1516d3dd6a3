use super::*;

fn verdict(headers: &[(&'static str, &str)]) -> bool {
    let headers = headers
        .iter()
        .map(|(name, value)| (axum::http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
    check_headers(&headers.collect()).is_ok()
}

#[test]
fn only_loopback_hosts_are_accepted() {
    for good in ["127.0.0.1:8787", "localhost", "LocalHost:1", "[::1]:8787", "127.9.9.9"] {
        assert!(verdict(&[("host", good)]), "{good}");
    }
    for bad in [
        "",
        "evil.example",
        "evil.example:8787",
        "127.0.0.1.evil.example",
        "[::1].evil.example",
        "[::1].evil.example:8787",
        "localhost.evil.example:1",
        "10.0.0.1",
        "[fe80::1]",
        "0.0.0.0",
    ] {
        assert!(!verdict(&[("host", bad)]), "{bad}");
    }
    assert!(!verdict(&[]), "a request without a host is refused");
}

#[test]
fn cross_site_requests_are_refused() {
    let with = |name, value| verdict(&[("host", "127.0.0.1:8787"), (name, value)]);
    assert!(with("origin", "http://127.0.0.1:8787"));
    assert!(!with("origin", "http://127.0.0.1:9999"));
    assert!(!with("origin", "https://evil.example"));
    assert!(!with("origin", "null"));
    assert!(with("sec-fetch-site", "same-origin"));
    assert!(with("sec-fetch-site", "none"));
    assert!(!with("sec-fetch-site", "cross-site"));
    assert!(!with("sec-fetch-site", "same-site"));
}

#[test]
fn only_processes_of_the_user_need_no_token() {
    let dir = tempfile::tempdir().unwrap();
    let token = ApiToken::load_or_create(&dir.path().join("token")).unwrap();
    let allowed = |path: &str, peer: Option<PeerUser>, offered: Option<&str>| {
        let mut request = axum::extract::Request::builder().uri(path);
        if let Some(offered) = offered {
            request = request.header(AUTHORIZATION, format!("Bearer {offered}"));
        }
        let mut request = request.body(axum::body::Body::empty()).unwrap();
        peer.map(|peer| request.extensions_mut().insert(peer));
        check_access(&token, &request).is_ok()
    };
    for path in ["/", "/metrics", "/readyz", "/api/v1/sessions", "/api/v1/events", "/v1/watchdog/events"] {
        assert!(allowed(path, Some(PeerUser::Same), None), "{path}");
        for stranger in [
            Some(PeerUser::Other(1001)),
            Some(PeerUser::Other(0)),
            Some(PeerUser::Unknown),
            Some(PeerUser::Nobody),
            None,
        ] {
            assert!(!allowed(path, stranger, None), "{path} {stranger:?}");
            assert!(!allowed(path, stranger, Some("guessed")), "{path} {stranger:?}");
            assert!(allowed(path, stranger, Some(token.expose_secret())), "{path} {stranger:?}");
        }
    }
    assert!(allowed("/healthz", Some(PeerUser::Other(1001)), None));
    assert!(!allowed("/healthz/../api/v1/sessions", Some(PeerUser::Other(1001)), None));
}

#[test]
fn the_body_of_a_request_that_every_user_may_send_is_not_read() {
    let body_of = |path: &str| {
        let mut request = axum::extract::Request::builder().uri(path).body(Body::from("body")).unwrap();
        discard_public_body(&mut request);
        axum::body::HttpBody::size_hint(request.body()).exact()
    };
    assert_eq!(body_of("/healthz"), Some(0));
    assert_eq!(body_of("/api/v1/events"), Some(4));
}
