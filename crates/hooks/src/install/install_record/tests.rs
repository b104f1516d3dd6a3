use belay_config::PathArgs;

use super::*;

#[test]
fn an_offer_lasts_as_long_as_the_installed_hook() {
    let dir = tempfile::tempdir().expect("a directory");
    let args = PathArgs { home: Some(dir.path().to_owned()), ..PathArgs::default() };
    let paths = Paths::resolve_with(&belay_config::EnvSnapshot::default(), &args).expect("paths");
    let hooks = belay_agents::find("codex").and_then(|agent| agent.hooks).expect("hooks");
    let event = |name| hooks.events.iter().find(|event| event.name == name).expect("an event");
    let timeout = |name, cwd: &str| installed_timeout(&paths, "codex", event(name), Some(Path::new(cwd))).as_secs();
    assert_eq!((timeout("Stop", "/a"), timeout("PermissionRequest", "/a")), (150, 600), "hooks of one run");
    // As an earlier version recorded it.
    let record = r#"{"agent":"codex","at":"2026-11-01T00:00:00Z","belay":"belay","files":[]}"#;
    let mut user: InstallRecord = serde_json::from_str(record).expect("a record");
    user.save(&paths).expect("it is saved");
    assert_eq!((timeout("Stop", "/a"), timeout("PermissionRequest", "/a"), timeout("SessionEnd", "/a")), (10, 600, 3));
    user.timeouts = BTreeMap::from([("Stop".to_owned(), 150), ("PermissionRequest".to_owned(), 600)]);
    user.save(&paths).expect("it is saved");
    assert_eq!(timeout("Stop", "/a"), 150);
    let project = InstallRecord { project: Some("/a".into()), timeouts: BTreeMap::new(), ..user };
    project.save(&paths).expect("it is saved");
    assert_eq!((timeout("Stop", "/a/b"), timeout("Stop", "/ab")), (10, 150), "the project's hook ends first");
    let claude = belay_agents::find("claude-code").and_then(|agent| agent.hooks).expect("hooks");
    let stop = claude.events.iter().find(|event| event.name == "Stop").expect("an event");
    assert_eq!(installed_timeout(&paths, "claude-code", stop, None).as_secs(), 150, "another agent");
}
