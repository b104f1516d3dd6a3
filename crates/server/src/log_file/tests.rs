use super::*;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn rotation_bounds_the_size() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = RotatingLogFile::new(dir.path().join("logs/serve.log"), 100, 3);
    for number in 0..100 {
        writeln!(log, "line {number} with some words in it").unwrap();
    }
    let logs = dir.path().join("logs");
    assert_eq!(names(&logs), ["serve.log", "serve.log.1", "serve.log.2"]);
    let newest = std::fs::read_to_string(logs.join("serve.log")).unwrap();
    assert!(newest.contains("line 99"), "{newest}");
    let older = std::fs::read_to_string(logs.join("serve.log.1")).unwrap();
    assert!(older.len() < 200 && !older.contains("line 99"));
    // An existing file is appended to.
    let mut again = RotatingLogFile::new(logs.join("serve.log"), 100, 1);
    writeln!(again, "more").unwrap();
    assert!(std::fs::read_to_string(logs.join("serve.log")).unwrap().ends_with("more\n"));
}

#[test]
fn write_errors_are_ignored() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    let mut log = RotatingLogFile::new(dir.path().join("file/serve.log"), 100, 3);
    writeln!(log, "lost").unwrap();
}

#[test]
fn secrets_do_not_reach_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = RotatingLogFile::new(dir.path().join("serve.log"), 10_000, 3);
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    writeln!(log, "sent with token {secret}").unwrap();
    assert!(!std::fs::read_to_string(log.path()).unwrap().contains(&secret));
}
