use belay_config::{EnvSnapshot, Loader, Paths};

use super::*;

/// What is kept with these settings.
fn kept(settings: &[(&str, &str)]) -> Retention {
    let home = tempfile::tempdir().unwrap();
    let env: EnvSnapshot = [("HOME", home.path())].into_iter().collect();
    let places = Paths::resolve(&env, None).unwrap();
    let loader =
        settings.iter().fold(Loader::new(&places, &env), |loader, (key, value)| loader.flag("--set", *key, *value));
    HousekeepingConfig::new(&loader.load().unwrap().config).retention
}

#[test]
fn history_is_kept_for_ninety_days_and_two_gibibytes_unless_somebody_wants_it_otherwise() {
    let built_in = Retention { max_age: Duration::from_secs(90 * 24 * 3600), max_bytes: 2 * 1024 * 1024 * 1024 };
    assert_eq!(kept(&[]), built_in);
    assert_eq!(built_in, Retention::default(), "the store on its own says the same");
    let week = Retention { max_age: Duration::from_secs(7 * 24 * 3600), ..built_in };
    assert_eq!(kept(&[("store.max_age", "7d")]), week);
    let all = Retention { max_age: Duration::MAX, max_bytes: u64::MAX };
    assert_eq!(kept(&[("store.max_age", "never"), ("store.max_bytes", "unlimited")]), all);
}
