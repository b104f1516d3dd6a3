use belay_config::{Config, EnvSnapshot, Loader, Paths};

use super::from_config;
use crate::alert::AlertKind;
use crate::channel::Channel;
use crate::test_support::{alert, at};

fn config(settings: &[(&str, &str)]) -> Config {
    let dir = tempfile::tempdir().expect("a directory");
    let env: EnvSnapshot = [("HOME", dir.path())].into_iter().collect();
    let paths = Paths::resolve(&env, None).expect("paths");
    let loader =
        settings.iter().fold(Loader::new(&paths, &env), |loader, (key, value)| loader.flag("--set", *key, *value));
    loader.load().expect("a configuration").config
}

fn names(channels: &[Box<dyn Channel>]) -> Vec<&str> {
    channels.iter().map(|channel| channel.name()).collect()
}

#[test]
fn channels_are_those_of_the_configuration() {
    let desktop = config(&[]);
    assert_eq!(names(&from_config(&desktop, &EnvSnapshot::default())), ["desktop"]);
    let ci: EnvSnapshot = [("CI", "true")].into_iter().collect();
    assert!(from_config(&desktop, &ci).is_empty());
    let both = config(&[("webhook.url", "http://127.0.0.1:9/")]);
    assert_eq!(names(&from_config(&both, &EnvSnapshot::default())), ["desktop", "webhook"]);
    assert_eq!(names(&from_config(&both, &ci)), ["webhook"]);
}

#[test]
fn a_misconfigured_channel_fails_each_delivery_with_the_reason() {
    let settings =
        [("notify.desktop", "false"), ("webhook.url", "http://127.0.0.1:9/"), ("webhook.secret_file", "/no")];
    let channels = from_config(&config(&settings), &EnvSnapshot::default());
    let problem = channels[0].problem().expect("a problem");
    assert!(
        problem.misconfigured && problem.reason.starts_with("webhook.secret_file: cannot read /no: "),
        "{problem:?}"
    );
    let error = channels[0].deliver(&alert(AlertKind::Paused), at(0)).expect_err("an error");
    assert_eq!(error.to_string(), problem.reason);
    assert!(channels[0].retry_delays().is_empty());
}
