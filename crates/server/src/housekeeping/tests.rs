use belay_config::{EnvSnapshot, Loader, Paths};

use super::*;

/// The retention with these settings.
fn retention(settings: &[(&str, &str)]) -> Retention {
    let home = tempfile::tempdir().unwrap();
    let env: EnvSnapshot = [("HOME", home.path())].into_iter().collect();
    let paths = Paths::resolve(&env, None).unwrap();
    let loader =
        settings.iter().fold(Loader::new(&paths, &env), |loader, (key, value)| loader.flag("--set", *key, *value));
    HousekeepingConfig::new(&loader.load().unwrap().config).retention
}

#[test]
fn retention_defaults_to_ninety_days_and_two_gibibytes() {
    let built_in = Retention { max_age: Duration::from_secs(90 * 24 * 3600), max_bytes: 2 * 1024 * 1024 * 1024 };
    assert_eq!(retention(&[]), built_in);
    assert_eq!(built_in, Retention::default(), "the store has the same defaults");
    let week = Retention { max_age: Duration::from_secs(7 * 24 * 3600), ..built_in };
    assert_eq!(retention(&[("store.max_age", "7d")]), week);
    let all = Retention { max_age: Duration::MAX, max_bytes: u64::MAX };
    assert_eq!(retention(&[("store.max_age", "never"), ("store.max_bytes", "unlimited")]), all);
}

#[test]
fn the_further_above_its_limit_the_shorter_the_rest() {
    let retention = Retention { max_bytes: 1000, ..Retention::default() };
    let rest = |used| rest_after(Duration::from_millis(10), used, &retention).as_millis();
    assert_eq!([500, 1000, 1500, 2000, 9000].map(rest), [30, 30, 15, 1, 1]);
    let unlimited = Retention { max_bytes: u64::MAX, ..retention };
    assert_eq!(rest_after(Duration::from_millis(10), 9000, &unlimited).as_millis(), 30);
    assert_eq!([1000, 1500, 1501].map(|used| is_far_above(used, &retention)), [false, false, true]);
    assert!(!is_far_above(u64::MAX, &unlimited));
}

#[test]
fn a_quiet_minute_leads_to_one_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let url = belay_store::StoreUrl::local(dir.path().join("belay.db"));
    let mut store = belay_store::open(&url, belay_store::Access::Write).unwrap();
    let mut timer = CheckpointTimer::default();
    let start = Instant::now();
    let after = |seconds| start + Duration::from_secs(seconds);
    assert!(!timer.is_due(store.change_token().unwrap(), start));
    assert!(!timer.is_due(store.change_token().unwrap(), after(59)));
    let mut transaction = store.begin(belay_store::Durability::ProcessCrash).unwrap();
    transaction.put_setting("key", Some("value")).unwrap();
    transaction.commit().unwrap();
    assert!(!timer.is_due(store.change_token().unwrap(), after(60)), "not quiet");
    assert!(!timer.is_due(store.change_token().unwrap(), after(119)));
    assert!(timer.is_due(store.change_token().unwrap(), after(120)));
    assert!(store.checkpoint().unwrap());
    timer.done();
    assert!(!timer.is_due(store.change_token().unwrap(), after(180)), "nothing has changed");
}
