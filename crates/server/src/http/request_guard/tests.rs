use super::*;

fn verdict(headers: &[(&'static str, &str)]) -> bool {
    let headers = headers
        .iter()
        .map(|(name, value)| (axum::http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
    check_headers(&headers.collect(), PeerUser::Same).is_ok()
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
fn other_machines_may_use_any_name_but_only_its_own_origin() {
    let verdict = |headers: &[(&'static str, &str)]| check_headers(&to_map(headers), PeerUser::Remote).is_ok();
    assert!(verdict(&[("host", "lab.example:8787"), ("origin", "https://lab.example:8787")]));
    assert!(!verdict(&[("host", "lab.example:8787"), ("origin", "http://lab.example:8787")]));
    assert!(!verdict(&[("host", "lab.example:8787"), ("origin", "https://evil.example")]));
    assert!(!verdict(&[("host", "lab.example:8787"), ("sec-fetch-site", "cross-site")]));
}

#[test]
fn a_request_names_one_host() {
    let mut headers = to_map(&[("host", "127.0.0.1")]);
    headers.append(HOST, HeaderValue::from_static("evil.example"));
    assert!(check_headers(&headers, PeerUser::Same).is_err());
}

/// The secrets of one instance, with a login.
struct Instance {
    _dir: tempfile::TempDir,
    token: ApiToken,
    logins: Logins,
    login: Login,
    cookie: String,
}

impl Instance {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let token = ApiToken::load_or_create(&dir.path().join("token")).unwrap();
        let logins = Logins::load(dir.path().join("logins.json")).unwrap();
        let code = logins.issue_code("812 belay open".to_owned(), now()).unwrap();
        let (login, secret) = logins.exchange_code(&code, now()).unwrap().unwrap();
        Self { _dir: dir, token, logins, login, cookie: format!("belay-login-8787={secret}") }
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token.expose_secret())
    }

    fn allows(&self, path: &str, peer: PeerUser, headers: &[(&'static str, &str)]) -> bool {
        let mut request = Request::builder().uri(path).body(Body::empty()).unwrap();
        *request.headers_mut() = to_map(headers);
        request.headers_mut().insert(HOST, HeaderValue::from_static("127.0.0.1:8787"));
        check_access(&self.token, &self.logins, &request, peer).is_ok()
    }

    fn author(&self, headers: &[(&'static str, &str)], form_token: Option<&str>) -> Option<Author> {
        let mut headers = to_map(headers);
        headers.insert(HOST, HeaderValue::from_static("127.0.0.1:8787"));
        decision_author(&self.token, &self.logins, &headers, form_token, now()).ok()
    }
}

fn to_map(headers: &[(&'static str, &str)]) -> HeaderMap {
    let line =
        |(name, value): &(&'static str, &str)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    headers.iter().map(line).collect()
}

#[test]
fn only_processes_of_the_user_need_no_credential() {
    let own = Instance::new();
    for path in ["/", "/metrics", "/readyz", "/api/v1/sessions", "/api/v1/events", "/v1/watchdog/events", "/logout"] {
        assert!(own.allows(path, PeerUser::Same, &[]), "{path}");
        for stranger in
            [PeerUser::Other(1001), PeerUser::Other(0), PeerUser::Unknown, PeerUser::Nobody, PeerUser::Remote]
        {
            assert!(!own.allows(path, stranger, &[]), "{path} {stranger:?}");
            assert!(!own.allows(path, stranger, &[("authorization", "Bearer guessed")]), "{path} {stranger:?}");
            assert!(!own.allows(path, stranger, &[("cookie", "belay-login-8787=guessed")]), "{path} {stranger:?}");
            assert!(own.allows(path, stranger, &[("authorization", &own.bearer())]), "{path} {stranger:?}");
        }
    }
    assert!(own.allows("/healthz", PeerUser::Other(1001), &[]));
    assert!(!own.allows("/healthz/../api/v1/sessions", PeerUser::Other(1001), &[]));
}

#[test]
fn a_cookie_counts_only_where_the_user_cannot_be_told() {
    let own = Instance::new();
    let cookie = [("cookie", own.cookie.as_str())];
    for (peer, allowed) in [
        (PeerUser::Unknown, true),
        (PeerUser::Remote, true),
        // A server of another user on another port may have received the cookie.
        (PeerUser::Other(1001), false),
        (PeerUser::Nobody, false),
    ] {
        assert_eq!(own.allows("/api/v1/sessions", peer, &cookie), allowed, "{peer:?}");
        assert_eq!(own.allows("/login", peer, &[]), allowed, "{peer:?}");
    }
    own.logins.revoke_all();
    assert!(!own.allows("/api/v1/sessions", PeerUser::Remote, &cookie));
}

#[test]
fn a_decision_needs_the_token_or_a_login_with_its_form_token() {
    let own = Instance::new();
    let code = own.logins.issue_code("812 belay open".to_owned(), now()).unwrap();
    let (other, _) = own.logins.exchange_code(&code, now()).unwrap().unwrap();
    let (form, foreign) = (own.logins.form_token(&own.login), own.logins.form_token(&other));
    let cookie = ("cookie", own.cookie.as_str());
    let by_login = Some(Author::Login(own.login.clone()));
    assert_eq!(own.author(&[("authorization", &own.bearer())], None), Some(Author::Token));
    assert_eq!(own.author(&[cookie], Some(&form)), by_login);
    assert_eq!(own.author(&[cookie, ("x-belay-form-token", &form)], None), by_login);
    assert_eq!(own.author(&[], None), None);
    assert_eq!(own.author(&[], Some(&form)), None);
    assert_eq!(own.author(&[cookie], None), None);
    assert_eq!(own.author(&[cookie], Some("")), None);
    assert_eq!(own.author(&[cookie], Some(&foreign)), None);
    assert_eq!(own.author(&[cookie, ("x-belay-form-token", &foreign)], None), None);
}

#[test]
fn every_response_is_protected() {
    let mut headers = HeaderMap::new();
    secure(&mut headers);
    let value = |name: &str| headers.get(name).unwrap().to_str().unwrap();
    assert_eq!(
        value("content-security-policy"),
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    assert_eq!(value("x-content-type-options"), "nosniff");
    assert_eq!(value("x-frame-options"), "DENY");
    assert_eq!(value("referrer-policy"), "no-referrer");
    assert_eq!(value("cross-origin-opener-policy"), "same-origin");
    assert_eq!(value("cross-origin-resource-policy"), "same-origin");
    assert_eq!(value("cache-control"), "no-store");
    assert!(!headers.keys().any(|name| name.as_str().starts_with("access-control-")));
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
