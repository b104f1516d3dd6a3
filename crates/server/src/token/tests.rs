use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn a_token_is_created_once_and_private() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    let token = ApiToken::load_or_create(&path).unwrap();
    assert_eq!(ApiToken::load_or_create(&path).unwrap(), token);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(token.matches(token.expose_secret()));
    assert!(!token.matches("") && !token.matches(&token.expose_secret()[1..]) && !token.matches(&"0".repeat(64)));
    assert!(!format!("{token:?}").contains(token.expose_secret()));
}

#[test]
fn a_token_readable_by_others_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    let first = ApiToken::load_or_create(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let second = ApiToken::load_or_create(&path).unwrap();
    assert_ne!(first, second);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_proxy_token_permits_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let token = ApiToken::load_or_create(&dir.path().join("token")).unwrap();
    assert_eq!(token.proxy_token(), token.proxy_token());
    assert_eq!(token.proxy_token().len(), 64);
    assert!(!token.matches(&token.proxy_token()));
}
