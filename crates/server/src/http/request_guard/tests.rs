use super::*;

fn verdict(headers: &[(&'static str, &str)]) -> bool {
    let headers = headers
        .iter()
        .map(|(name, value)| (axum::http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
    examine(&headers.collect()).is_ok()
}

#[test]
fn only_loopback_hosts_are_answered() {
    for good in ["127.0.0.1:8787", "localhost", "LocalHost:1", "[::1]:8787", "127.9.9.9"] {
        assert!(verdict(&[("host", good)]), "{good}");
    }
    for bad in [
        "",
        "evil.example",
        "evil.example:8787",
        "127.0.0.1.evil.example",
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
fn requests_on_behalf_of_other_sites_are_refused() {
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
