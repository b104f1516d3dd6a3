//! What counts as a difference between two runs, and what does not.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::normalize::Normal;
use super::{NormalizedRun, one_blank, value_contains};
use crate::transcript::Transcript;

fn run_of(lines: Vec<Value>) -> NormalizedRun {
    let transcript = Transcript { file: PathBuf::new(), lines };
    let transcripts = vec![Normal::new(Path::new("/runs/run-1")).transcript(&transcript)];
    NormalizedRun { turns: vec![], auxiliary: vec![], transcripts }
}

fn differences(ours: Value, theirs: Value) -> Vec<String> {
    run_of(vec![ours]).differences(&run_of(vec![theirs]))
}

#[test]
fn ids_times_and_paths_do_not_count() {
    let ours = json!({
        "type": "user", "uuid": "61a89d7e-862a-4ec9-b918-dab284bcaf9b", "timestamp": "2026-11-15T20:15:36.978Z",
        "session": "ses_e1f25f03effeD5LGS2qGeUpqxY", "durationMs": 5, "file": "/runs/run-1/project/a.txt",
        "output": "Chunk ID: b40f75\nWall time: 0.0000 seconds\nOutput:\nhi",
        "nested": "{\"turn_id\":\"01a1e0d9-d92d-7fc1-aace-ff45aee32a2f\",\"started_at\":7}",
        "slug": "-runs-run-1-project",
    });
    let theirs = json!({
        "type": "user", "uuid": "0765231d-54aa-4ba5-b4ea-91a0459f1f86", "timestamp": "2027-01-01T00:00:00.001Z",
        "session": "ses_e1f24ba15ffezDhTUejGni6qT1", "durationMs": 99, "file": "/runs/run-1/project/a.txt",
        "output": "Chunk ID: 81a094\nWall time: 12.3 seconds\nOutput:\nhi",
        "nested": "{\"turn_id\":\"01a1e0db-19f1-7b22-a18a-dcae1b8f0d34\",\"started_at\":8}",
        "slug": "-runs-run-1-project",
    });
    assert_eq!(differences(ours, theirs), Vec::<String>::new());
}

#[test]
fn texts_arguments_and_counts_count() {
    let found =
        differences(json!({"type": "user", "args": {"timeout": 5}}), json!({"type": "user", "args": {"timeout": 6}}));
    assert_eq!(found, ["transcripts/0/user/0/args/timeout: 5 here, 6 there"]);
    let found = differences(json!({"type": "user", "text": "a"}), json!({"type": "user", "text": "b"}));
    assert_eq!(found, [r#"transcripts/0/user/0/text: "a" here, "b" there"#]);
    let found = differences(json!({"type": "user", "list": [1]}), json!({"type": "user", "list": []}));
    assert_eq!(found, ["transcripts/0/user/0/list: 1 here, 0 there"]);
    let found = differences(json!({"type": "user", "more": 1}), json!({"type": "user"}));
    assert_eq!(found, ["transcripts/0/user/0/more: 1 here, null there"]);
}

#[test]
fn hook_records_and_repeated_markers_are_left_out() {
    let plain = run_of(vec![json!({"type": "user"}), json!({"type": "last-prompt"})]);
    let hooked = run_of(vec![
        json!({"type": "hook.start"}),
        json!({"type": "attachment", "attachment": {"type": "hook_success"}}),
        json!({"type": "system", "subtype": "stop_hook_summary"}),
        json!({"type": "last-prompt"}),
        json!({"type": "user"}),
        json!({"type": "last-prompt"}),
    ]);
    assert_eq!(plain.differences(&hooked), Vec::<String>::new());
}

#[test]
fn text_is_found_across_line_breaks_and_in_any_field() {
    let body = json!({"messages": [{"content": [{"text": "Belay: the same\n  command failed"}]}]});
    assert!(value_contains(&body, &one_blank("Belay: the same command failed")));
    assert!(!value_contains(&body, "Belay: another"));
}
