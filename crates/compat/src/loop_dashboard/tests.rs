use super::*;

fn env(pairs: &[(&str, &str)]) -> EnvSnapshot {
    pairs.iter().map(|(name, value)| (*name, *value)).collect()
}

#[test]
fn every_variable_becomes_a_key_or_says_why_not() {
    let project_dir = tempfile::tempdir().unwrap();
    std::fs::write(project_dir.path().join(".env"), "LOOP_MAX_ITERATIONS=4\nLOOP_MAX_QUEUE_DEPTH=9\nPORT=4170\n")
        .unwrap();
    let env = env(&[
        ("LOOP_MAX_ITERATIONS", "6"),
        ("LOOP_ITERATION_TIMEOUT_MS", "1800500"),
        ("LOOP_CLAUDE_BIN", "claude"),
        ("LOOP_CODEX_BIN", "/opt/codex"),
        ("LOOP_WATCHDOG_PORT", "1"),
        ("LOOP_COLOUR", "red"),
    ]);
    let mapped = settings(project_dir.path(), &env).unwrap();
    let mut keys: Vec<(String, Option<String>)> = mapped
        .iter()
        .map(|one| (one.from.clone(), one.to.as_ref().map(|(key, value)| format!("{key} = {value}"))))
        .collect();
    keys.sort();
    let text = |from: &str, to: Option<&str>| (from.to_owned(), to.map(str::to_owned));
    assert_eq!(
        keys,
        [
            text("LOOP_CLAUDE_BIN=claude", None),
            text("LOOP_CODEX_BIN=/opt/codex", Some("agents.codex.program = \"/opt/codex\"")),
            text("LOOP_COLOUR=red", None),
            text("LOOP_ITERATION_TIMEOUT_MS=1800500", Some("review.round_timeout = \"1801s\"")),
            text("LOOP_MAX_ITERATIONS=6", Some("review.rounds = 6")),
            text("LOOP_MAX_QUEUE_DEPTH=9", Some("review.queue_depth = 9")),
        ]
    );
    assert!(mapped.iter().all(|one| one.user), "an environment is the user's");
}

#[test]
fn finished_tasks_are_found_by_the_columns_of_their_table() {
    let project_dir = tempfile::tempdir().unwrap();
    let database = Connection::open(project_dir.path().join("loop.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE migrations (id INTEGER, name TEXT);
             CREATE TABLE tasks (id TEXT, title TEXT, prompt TEXT, workingDir TEXT, status TEXT, maxIterations INTEGER,
               createdAt INTEGER);
             INSERT INTO tasks VALUES ('t1', 'First', 'Do it', '/src/a', 'done', 5, 1760000000000),
               ('t2', 'Second', 'Do more', '/src/b', 'needs_attention', NULL, NULL),
               ('t3', 'Third', 'Not yet', '/src/c', 'running', NULL, NULL);",
        )
        .unwrap();
    std::fs::create_dir_all(project_dir.path().join(".loops/t1")).unwrap();
    let found = tasks(project_dir.path(), &env(&[])).unwrap();
    assert_eq!(found.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["t1", "t2"], "running tasks stay there");
    assert_eq!((found[0].project_dir.as_str(), found[0].rounds), ("/src/a", Some(5)));
    assert_eq!(found[0].filed_at, Some(Timestamp::from_millis(1_760_000_000_000)));
    assert_eq!(found[0].artifacts.as_deref(), Some(project_dir.path().join(".loops/t1").as_path()));
    assert_eq!(found[1].artifacts, None);
}

#[test]
fn a_dir_without_a_database_has_no_tasks_and_a_damaged_one_is_named() {
    let project_dir = tempfile::tempdir().unwrap();
    assert_eq!(tasks(project_dir.path(), &env(&[])).unwrap(), []);
    std::fs::write(project_dir.path().join("loop.db"), "not a database at all, but long enough to be read as one")
        .unwrap();
    let error = tasks(project_dir.path(), &env(&[])).unwrap_err();
    assert!(error.to_string().contains("loop.db"), "{error}");
}
