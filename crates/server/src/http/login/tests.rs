use super::*;

fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    lines.iter().map(|(name, value)| (axum::http::HeaderName::from_static(name), value.parse().unwrap())).collect()
}

#[test]
fn cookies_of_several_instances_do_not_clash() {
    let dir = tempfile::tempdir().unwrap();
    let logins = Logins::load(dir.path().join("logins.json")).unwrap();
    let code = logins.issue_code("812 belay open".to_owned(), now()).unwrap();
    let (login, cookie) = logins.exchange_code(&code, now()).unwrap().unwrap();
    let find_at = |host: &str, cookies: &str| find(&logins, &headers(&[("host", host), ("cookie", cookies)]), now());
    let own = format!("belay-login-9000=00; theme=dark; belay-login-8787={cookie}");
    assert_eq!(find_at("127.0.0.1:8787", &own), Some(login.clone()));
    assert_eq!(find_at("[::1]:8787", &own), Some(login.clone()));
    assert_eq!(find_at("127.0.0.1:9000", &own), None);
    assert_eq!(find_at("127.0.0.1", &own), None);
    assert_eq!(find_at("lab.example:8787", &format!("__Host-belay-login-8787={cookie}")), Some(login));
}

#[test]
fn a_cookie_is_kept_from_scripts_and_other_sites() {
    let at = headers(&[("host", "localhost:8787")]);
    assert_eq!(
        set_cookie(&at, PeerUser::Same, "c0", 60),
        "belay-login-8787=c0; Path=/; HttpOnly; SameSite=Strict; Max-Age=60"
    );
    assert_eq!(
        set_cookie(&at, PeerUser::Remote, "c0", 60),
        "__Host-belay-login-8787=c0; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure"
    );
}

#[test]
fn only_navigations_of_a_tab_exchange_a_code() {
    assert!(is_top_level(&headers(&[])));
    assert!(is_top_level(&headers(&[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")])));
    for line in [
        ("sec-fetch-mode", "no-cors"),
        ("sec-fetch-mode", "cors"),
        ("sec-fetch-dest", "iframe"),
        ("sec-fetch-dest", "image"),
        ("sec-purpose", "prefetch;prerender"),
        ("purpose", "prefetch"),
        ("x-moz", "prefetch"),
    ] {
        assert!(!is_top_level(&headers(&[line])), "{line:?}");
    }
}
