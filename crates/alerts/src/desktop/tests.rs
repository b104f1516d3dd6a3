use belay_core::{SessionKey, Timestamp};

use super::command;
use crate::alert::{Alert, AlertKind};

#[test]
fn texts_are_arguments_and_no_markup() {
    let news = Alert {
        id: "msg_1".into(),
        kind: AlertKind::Paused,
        session: SessionKey::new("codex", "$(reboot)"),
        at: Timestamp::UNKNOWN,
        pattern: Some("exact_repeat".into()),
        sentence: "The same call again: `echo '<img src=\"http://x\">' && \"quit\"`.".into(),
        incident: None,
        project: None,
    };
    let command = command(&news);
    let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let at = args.iter().position(|arg| arg == "--").expect("options end");
    assert_eq!((args.len(), args[at + 1].as_str()), (at + 3, "Belay paused codex"));
    assert!(args[at + 2].contains("belay resume codex:$(reboot)"), "{args:?}");
    if !cfg!(target_os = "macos") {
        assert!(args[at + 2].contains("&lt;img") && args[at + 2].contains("&amp;&amp;"), "{args:?}");
    }
}
