use super::*;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_state_directory_that_cannot_be_written_starts_one_process_too() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    let env: EnvSnapshot =
        [("HOME", dir.path().join("file")), ("XDG_RUNTIME_DIR", dir.path().join("run"))].into_iter().collect();
    let paths = Paths::resolve(&env, None).unwrap();
    let idle = DurationSetting::new(Duration::from_secs(1));
    let start = || start(&paths, StartedBy::Person(&env), Path::new("/bin/true"), idle).unwrap();
    assert!(start());
    assert!(!start(), "it has just been started");
    clear_start_marker(&paths);
    assert!(start());
}

#[test]
fn a_hook_hands_nothing_over_that_redirects_or_loosens() {
    let hostile = [
        "BELAY_DRY_RUN",
        "BELAY_WEBHOOK_URL",
        "BELAY_LISTEN",
        "BELAY_HOME",
        "HOME",
        "XDG_STATE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_RUNTIME_DIR",
        "HTTPS_PROXY",
        "SSL_CERT_FILE",
        "DBUS_SESSION_BUS_ADDRESS",
        "TMPDIR",
        "CI",
        "TZ",
        "LD_PRELOAD",
    ];
    let writable = tempfile::tempdir().unwrap();
    std::fs::set_permissions(writable.path(), Permissions::from_mode(0o777)).unwrap();
    let path = format!("node_modules/.bin:{}:/usr/bin:/nowhere", writable.path().display());
    let env: EnvSnapshot = hostile.iter().map(|name| (*name, "/hostile")).chain([("PATH", &*path)]).collect();
    let given = StartedBy::Agent(&env).variables();
    let path = given.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.to_string_lossy().into_owned());
    let path = path.unwrap_or_default();
    assert!(path.starts_with("/usr/bin") && !path.contains("node_modules"), "{path}");
    assert!(!path.contains(writable.path().to_str().unwrap()), "{path}");
    assert!(given.iter().all(|(_, value)| value != "/hostile"), "{given:?}");
}

#[test]
fn a_search_path_keeps_no_directory_that_an_agent_can_change_later() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("bin");
    std::os::unix::fs::symlink("/usr/sbin", &link).unwrap();
    let kept = |path: &str, is_root| {
        let kept = system_directories(path.as_ref(), is_root).unwrap();
        std::env::split_paths(&kept).collect::<Vec<_>>()
    };
    let sbin = Path::new("/usr/sbin").canonicalize().unwrap();
    assert_eq!(kept(link.to_str().unwrap(), false)[0], sbin, "the link may lead elsewhere later");
    // Owned by root and writable for nobody else, but the agent may be root.
    for path in ["/etc", "/usr/../etc"] {
        assert!(!kept(path, true).contains(&PathBuf::from("/etc")), "{path}");
    }
    // Belay needs git and the desktop's notifications, whatever a repository sets.
    assert!(kept("/nowhere", false).contains(&PathBuf::from("/usr/bin")));
}

#[test]
fn a_run_hands_its_settings_over_but_not_its_key() {
    let env: EnvSnapshot =
        [("BELAY_DRY_RUN", "1"), ("BELAY_SESSION", "codex:1"), ("BELAY_HOME", "/h")].into_iter().collect();
    assert_eq!(StartedBy::Person(&env).variables(), [("BELAY_DRY_RUN".to_owned(), "1".into())]);
}
