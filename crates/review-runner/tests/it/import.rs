//! Finished tasks of another tool.

use belay_core::Timestamp;
use belay_review_runner::import::{ForeignTask, import};
use serde_json::Value;

#[test]
fn an_imported_task_has_the_files_of_one_that_ran_here() {
    let root = tempfile::tempdir().unwrap();
    let task = ForeignTask {
        source: "loop 7".to_owned(),
        title: String::new(),
        prompt: "fix the refund".to_owned(),
        project_dir: "/work/shop".to_owned(),
        builder: "claude".to_owned(),
        reviewer: "codex".to_owned(),
        rounds: 2,
        is_done: true,
        status: "done".to_owned(),
        filed_at: Timestamp::from_millis(1_000),
        artifacts: None,
    };
    let (id, is_new) = import(root.path(), &task).unwrap();
    assert!(is_new);
    let file = |name: &str| -> Value {
        let bytes = std::fs::read(root.path().join(&id).join(name)).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    };
    assert_eq!(file("meta.json")["title"], "fix the refund");
    assert_eq!(file("ledger.json"), Value::Array(Vec::new()), "it has no issues");
    assert_eq!(import(root.path(), &task).unwrap(), (id, false), "the same task is imported once");
}
