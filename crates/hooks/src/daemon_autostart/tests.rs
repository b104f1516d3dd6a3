use super::*;

#[test]
fn a_state_directory_that_cannot_be_written_starts_one_process_too() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let env: EnvSnapshot =
        [("HOME", folder.path().join("file")), ("XDG_RUNTIME_DIR", folder.path().join("run"))].into_iter().collect();
    let paths = Paths::resolve(&env, None).unwrap();
    let idle = DurationSetting::new(Duration::from_secs(1));
    let start = || start(&paths, &env, None, Path::new("/bin/true"), idle).unwrap();
    assert!(start());
    assert!(!start(), "it has just been started");
    clear_start_marker(&paths);
    assert!(start());
}
