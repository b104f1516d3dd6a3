use proptest::prelude::*;

use super::*;

#[test]
fn parts_of_a_url() {
    let url = HttpUrl::parse("https://Hooks.Example.com:8443/T/1?key=v").expect("valid");
    assert!(url.tls);
    assert_eq!((url.host.as_str(), url.port), ("hooks.example.com", 8443));
    assert_eq!((url.authority.as_str(), url.path.as_str()), ("Hooks.Example.com:8443", "/T/1?key=v"));
    let url = HttpUrl::parse("http://[::1]").expect("valid");
    assert_eq!((url.host.as_str(), url.port, url.authority.as_str()), ("::1", 80, "[::1]"));
    assert_eq!(HttpUrl::parse("https://a?b").expect("valid").request_target(), "/?b");
    assert_eq!(HttpUrl::parse_base("https://a/v1//").expect("valid").url(), "https://a/v1");
}

#[test]
fn what_is_ambiguous_is_refused() {
    for (url, error) in [
        ("ftp://x/", UrlError::Scheme),
        ("HTTPS://x/", UrlError::Scheme),
        ("file:///etc/passwd", UrlError::Scheme),
        ("https://", UrlError::NoHost),
        ("https://:80/", UrlError::NoHost),
        ("https:///path", UrlError::NoHost),
        ("https://user:pw@x/", UrlError::Credentials),
        ("https://x:port/", UrlError::Port),
        ("https://x:0/", UrlError::Port),
        ("https://x:+80/", UrlError::Port),
        ("https://x:/", UrlError::Port),
        ("https://x:99999/", UrlError::Port),
        ("https://a:b:1/", UrlError::Port),
        ("https://x/a b", UrlError::Characters),
        ("https://x\\@y/", UrlError::Characters),
        ("https://ex\u{e4}mple/", UrlError::Characters),
        ("https://x/#part", UrlError::Fragment),
        ("https://[::1/", UrlError::Host),
        ("https://[::1]x/", UrlError::Host),
        ("https://[fe80::1%25eth0]/", UrlError::Host),
        ("https://[127.0.0.1]/", UrlError::Host),
        ("https://2852039166/", UrlError::Host),
        ("https://127.1/", UrlError::Host),
        ("https://0xa9fea9fe/", UrlError::Host),
        ("https://x%2e/", UrlError::Host),
    ] {
        assert_eq!(HttpUrl::parse(url), Err(error), "{url}");
    }
    assert_eq!(HttpUrl::parse_base("https://x/?a=b"), Err(UrlError::Query));
}

#[test]
fn secrets_are_not_shown() {
    let url = HttpUrl::parse("https://hooks.example.com/T/secret").expect("valid");
    assert_eq!(format!("{url:?}"), "https://hooks.example.com:443/..");
    assert_eq!(without_userinfo("https://user:a@b@example.com/"), "https://[...]@example.com/");
}

proptest! {
    #[test]
    fn a_parsed_url_parses_to_itself_again(url in "https?://[a-z0-9.:\\[\\]@?#/%-]{0,24}") {
        if let Ok(parsed) = HttpUrl::parse(&url) {
            prop_assert_eq!(parsed.url(), url);
            prop_assert!(parsed.port != 0 && !parsed.host.is_empty());
        }
    }
}

#[test]
fn only_a_complete_loopback_name_is_one() {
    for good in ["127.0.0.1:8787", "localhost", "LocalHost:1", "[::1]", "[::1]:8787", "127.9.9.9"] {
        assert!(is_loopback_authority(good), "{good}");
    }
    for bad in [
        "",
        "[::1].evil.com",
        "[::1].evil.com:8787",
        "[::1]evil.com",
        "[::1]:",
        "[::1]:8787.evil.com",
        "[::1",
        "[localhost]",
        "[127.0.0.1]",
        "::1",
        "localhost:",
        "localhost:x",
        "localhost:1.evil.com",
        "localhost.evil.com",
        "127.0.0.1.evil.com",
        "127.0.0.1:1:2",
        "evil.com",
        "10.0.0.1",
        "[fe80::1]",
        "0.0.0.0",
        "user@localhost",
    ] {
        assert!(!is_loopback_authority(bad), "{bad}");
    }
}
