use std::path::Path;
use std::process::Command;
use std::time::Duration;

use belay_core::SessionKey;

use super::{Desktop, MAX_AGE, command, run};
use crate::alert::{Alert, AlertKind};
use crate::channel::Channel;
use crate::test_support::alert;

#[test]
fn texts_are_arguments_without_markup() {
    let alert = Alert {
        subject: Some(SessionKey::new("agent", "$(reboot)").into()),
        sentence: "The same call again: `echo '<img src=\"http://x\">' && \"quit\"`.".into(),
        ..alert(AlertKind::Paused)
    };
    let command = command(Path::new("notify-send"), &alert);
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let at = args.iter().position(|arg| arg == "--").expect("the end of options");
    assert_eq!((args.len(), args[at + 1].as_str()), (at + 3, "Belay paused agent"));
    assert!(args[at + 2].contains("belay resume agent:$(reboot)"), "{args:?}");
    if !cfg!(target_os = "macos") {
        assert!(args[at + 2].contains("&lt;img") && args[at + 2].contains("&amp;&amp;"), "{args:?}");
    }
}

#[test]
fn only_fresh_alerts_that_the_operator_did_not_cause_are_shown() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join(super::NOTIFIER), "").expect("a file");
    let desktop = Desktop { search_path: dir.path().into(), has_session_bus: true };
    let paused = alert(AlertKind::Paused);
    assert!(desktop.accepts(&paused, paused.at + MAX_AGE));
    assert!(desktop.accepts(&paused, paused.at - Duration::from_secs(60)), "the clock was set back");
    assert!(!desktop.accepts(&paused, paused.at + MAX_AGE + Duration::from_millis(1)));
    assert!(!desktop.accepts(&alert(AlertKind::Updated), paused.at));
    assert!(!desktop.accepts(&Alert { pattern: None, ..alert(AlertKind::Paused) }, paused.at));
    assert_eq!(desktop.problem(), None);
    let missing = Desktop { search_path: "/nonexistent".into(), has_session_bus: true };
    assert!(!missing.accepts(&paused, paused.at), "no notifier");
    assert!(missing.problem().is_some());
}

#[cfg(unix)]
#[test]
fn a_notifier_that_fails_is_an_error() {
    assert_eq!(run(&mut Command::new("true")), Ok(()));
    let error = run(&mut Command::new("false")).expect_err("an error").to_string();
    assert!(error.contains("failed: exit status: 1"), "{error}");
    assert!(run(&mut Command::new("/nonexistent")).is_err());
}
