use std::os::unix::fs::PermissionsExt;

use super::*;

const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

fn after(duration: Duration) -> Timestamp {
    START + duration
}

fn logins() -> (tempfile::TempDir, Logins) {
    let dir = tempfile::tempdir().unwrap();
    let logins = Logins::load(dir.path().join("logins.json")).unwrap();
    (dir, logins)
}

fn log_in(logins: &Logins, now: Timestamp) -> (Login, String) {
    let code = logins.issue_code("812 belay open".to_owned(), now).unwrap();
    logins.exchange_code(&code, now).unwrap().unwrap()
}

#[test]
fn a_code_is_exchanged_once() {
    let (_dir, logins) = logins();
    let code = logins.issue_code("812 belay open".to_owned(), START).unwrap();
    let (login, cookie) = logins.exchange_code(&code, START).unwrap().unwrap();
    assert_eq!(logins.find(&cookie, START), Some(login));
    assert!(logins.exchange_code(&code, START).unwrap().is_none());
    assert!(logins.exchange_code("", START).unwrap().is_none());
    assert_eq!(logins.find(&code, START), None, "a code is not a cookie");
}

#[test]
fn a_login_tells_who_asked_for_its_link() {
    let (dir, logins) = logins();
    let (login, _) = log_in(&logins, START);
    let restarted = Logins::load(dir.path().join("logins.json")).unwrap();
    for logins in [logins, restarted] {
        let [only] = &logins.list(START)[..] else { panic!("one login") };
        assert_eq!((&*only.id, &*only.asked_by), (login.short_id(), "812 belay open"));
        assert_eq!(logins.list(after(LOGIN_LIFETIME)), []);
    }
}

#[test]
fn a_code_expires_and_is_replaced_by_newer_ones() {
    let (_dir, logins) = logins();
    let late = logins.issue_code("812 belay open".to_owned(), START).unwrap();
    assert!(logins.exchange_code(&late, after(CODE_LIFETIME)).unwrap().is_none());
    let first = logins.issue_code("812 belay open".to_owned(), START).unwrap();
    let second = logins.issue_code("812 belay open".to_owned(), START).unwrap();
    for _ in 0..MAX_CODES - 1 {
        logins.issue_code("812 belay open".to_owned(), START).unwrap();
    }
    assert!(logins.exchange_code(&first, START).unwrap().is_none());
    assert!(logins.exchange_code(&second, START).unwrap().is_some());
}

#[test]
fn a_login_lasts_while_it_is_used() {
    let (_dir, logins) = logins();
    let (login, cookie) = log_in(&logins, START);
    let day = Duration::from_secs(24 * 60 * 60);
    assert_eq!(logins.find(&cookie, after(29 * day)), Some(login.clone()));
    assert_eq!(logins.find(&cookie, after(58 * day)), Some(login));
    assert_eq!(logins.find(&cookie, after(88 * day)), None);
}

#[test]
fn logins_survive_a_restart_and_only_their_owner_can_read_them() {
    let (dir, logins) = logins();
    let (login, cookie) = log_in(&logins, START);
    let token = logins.form_token(&login);
    let file = dir.path().join("logins.json");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains(&cookie) && !text.contains(&token), "{text}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let restarted = Logins::load(file.clone()).unwrap();
    assert_eq!(restarted.find(&cookie, START), Some(login.clone()));
    assert!(restarted.verify_form_token(&login, &token));
    // A file that others could have read or written is not trusted.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(Logins::load(file).unwrap().find(&cookie, START), None);
}

#[test]
fn the_time_of_use_is_written_later() {
    let (dir, logins) = logins();
    let (_, cookie) = log_in(&logins, START);
    let week = Duration::from_secs(7 * 24 * 60 * 60);
    logins.find(&cookie, after(4 * week)).unwrap();
    logins.save_if_dirty();
    let restarted = Logins::load(dir.path().join("logins.json")).unwrap();
    assert!(restarted.find(&cookie, after(8 * week)).is_some());
}

#[test]
fn logins_can_be_revoked() {
    let (dir, logins) = logins();
    let (first, cookie) = log_in(&logins, START);
    let (_, other) = log_in(&logins, START);
    logins.revoke(&first);
    assert_eq!(logins.find(&cookie, START), None);
    assert!(logins.find(&other, START).is_some());
    let code = logins.issue_code("812 belay open".to_owned(), START).unwrap();
    assert_eq!(logins.revoke_all(), 1);
    assert_eq!(logins.find(&other, START), None);
    assert!(logins.exchange_code(&code, START).unwrap().is_none());
    let (_, cookie) = log_in(&logins, START);
    let file = dir.path().join("logins.json");
    assert_eq!(revoke_stored(&file).unwrap(), 1);
    assert_eq!(Logins::load(file.clone()).unwrap().find(&cookie, START), None);
    assert_eq!(revoke_stored(&file).unwrap(), 0);
}

#[test]
fn the_number_of_logins_is_bounded() {
    let (_dir, logins) = logins();
    let cookies: Vec<String> =
        (0..=MAX_LOGINS).map(|n| log_in(&logins, after(Duration::from_secs(n as u64))).1).collect();
    let now = after(Duration::from_secs(100));
    assert_eq!(logins.find(&cookies[0], now), None, "the least recently used one");
    assert!(cookies[1..].iter().all(|cookie| logins.find(cookie, now).is_some()));
}

#[test]
fn a_form_token_belongs_to_one_login() {
    let (_dir, logins) = logins();
    let ((first, _), (second, _)) = (log_in(&logins, START), log_in(&logins, START));
    let token = logins.form_token(&first);
    assert!(logins.verify_form_token(&first, &token));
    assert!(!logins.verify_form_token(&second, &token));
    assert!(!logins.verify_form_token(&first, ""));
}
