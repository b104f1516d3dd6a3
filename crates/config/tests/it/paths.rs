//! Paths.

use std::path::Path;

use belay_config::{EnvSnapshot, PathError, Paths};

fn find(vars: &[(&str, &str)], home: Option<&str>) -> Result<Paths, PathError> {
    let env: EnvSnapshot = vars.iter().copied().collect();
    Paths::resolve(&env, home.map(Path::new))
}

#[test]
fn xdg_dirs_are_honoured_and_relative_ones_ignored() {
    let paths = find(&[("HOME", "/home/user")], None).unwrap();
    assert_eq!(paths.state(), Path::new("/home/user/.local/state/belay"));
    assert_eq!(paths.config_file(), Path::new("/home/user/.config/belay/config.toml"));
    assert_eq!(paths.socket(), Path::new("/home/user/.local/state/belay/belay.sock"));

    let xdg = [("HOME", "/home/user"), ("XDG_STATE_HOME", "/var/s"), ("XDG_CONFIG_HOME", "relative")];
    let paths = find(&xdg, None).unwrap();
    assert_eq!(paths.database(), Path::new("/var/s/belay/belay.db"));
    assert_eq!(paths.config_file(), Path::new("/home/user/.config/belay/config.toml"));
}

#[test]
fn one_variable_or_flag_moves_state_and_configuration_together() {
    let vars = [("HOME", "/home/user"), ("BELAY_HOME", "/srv/belay")];
    let paths = find(&vars, None).unwrap();
    assert_eq!((paths.state(), paths.config_file()), (Path::new("/srv/belay"), Path::new("/srv/belay/config.toml")));
    let paths = find(&vars, Some("/other")).unwrap();
    assert_eq!(paths.state(), Path::new("/other"));
    assert!(find(&vars, Some("relative")).unwrap().state().is_absolute());
}

#[test]
fn a_long_socket_path_moves_to_the_runtime_dir() {
    let long = format!("/srv/{}", "x".repeat(120));
    let near = find(&[("BELAY_HOME", long.as_str()), ("XDG_RUNTIME_DIR", "/run/user/1000")], None).unwrap();
    assert!(near.socket().starts_with("/run/user/1000/belay"), "{:?}", near.socket());
    let other = find(&[("BELAY_HOME", &format!("{long}y")), ("XDG_RUNTIME_DIR", "/run/user/1000")], None).unwrap();
    assert_ne!(near.socket(), other.socket(), "each state directory has a socket of its own");
}

#[test]
fn without_a_runtime_dir_the_short_socket_is_below_the_home_dir() {
    let long = format!("/srv/{}", "x".repeat(120));
    let paths = find(&[("BELAY_HOME", long.as_str()), ("HOME", "/home/user")], None).unwrap();
    assert!(paths.socket().starts_with("/home/user/.local/state/belay-run"), "{:?}", paths.socket());
    assert!(paths.socket().as_os_str().len() <= 92);
    let near = find(&[("HOME", "/home/user")], None).unwrap();
    assert!(near.runtime_socket().starts_with("/home/user/.local/state/belay-run"), "{:?}", near.runtime_socket());
    let deep = format!("/srv/{}", "h".repeat(120));
    let error = find(&[("BELAY_HOME", long.as_str()), ("HOME", deep.as_str())], None).unwrap_err();
    assert!(matches!(error, PathError::SocketTooLong { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn the_state_dir_is_closed_to_others() {
    use std::os::unix::fs::PermissionsExt;
    let temp = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;

    let fresh = temp.path().join("a/b");
    find(&[("BELAY_HOME", fresh.to_str().unwrap())], None).unwrap().create().unwrap();
    assert_eq!(mode(&fresh), 0o700);

    let open = temp.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
    find(&[("BELAY_HOME", open.to_str().unwrap())], None).unwrap().create().unwrap();
    assert_eq!(mode(&open), 0o700);

    let file = temp.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = find(&[("BELAY_HOME", file.to_str().unwrap())], None).unwrap().create().unwrap_err();
    assert!(error.to_string().contains("not a directory"), "{error}");
}
