//! Damaged and unusual histories.

use std::fs;
use std::io::Write;

use belay_audit::discover::DiscoveryError;

use super::audit;
use super::history::History;

#[test]
fn damage_is_counted_and_named_and_the_rest_is_read() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut history = History::new(1, "shop");
    history.prompt("Go").works(2).raw("{\"type\":\"user\",\"mess").raw("\u{0}\u{1}\u{2}").works(2).says("Done.");
    history.write(dir.path());
    let audited = audit(&[dir.path()]);
    let total = audited.of_kind("total")[0];
    assert_eq!(total["calls"], 4);
    assert_eq!((total["broken_lines"].as_u64(), total["binary_lines"].as_u64()), (Some(1), Some(1)));
    let text = audited.text(dir.path());
    assert!(text.contains("line 6 is damaged or truncated, line 7 is binary data"), "{text}");
}

#[test]
fn a_line_of_200_megabytes_is_passed_over() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut history = History::new(1, "shop");
    let path = history.prompt("Go").works(2).write(dir.path());
    let mut file = fs::File::options().append(true).open(path).expect("the file");
    let block = vec![b'x'; 1 << 20];
    for _ in 0..200 {
        file.write_all(&block).expect("there is room");
    }
    file.write_all(b"\n").expect("there is room");
    let audited = audit(&[dir.path()]);
    let total = audited.of_kind("total")[0];
    assert_eq!((total["calls"].as_u64(), total["too_long_lines"].as_u64()), (Some(2), Some(1)));
}

#[test]
fn what_is_no_session_file_is_said_when_named_and_passed_when_met() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut history = History::new(1, "shop");
    history.prompt("Go").works(1).write(dir.path());
    let notes = dir.path().join("notes.json");
    fs::write(&notes, "{\"a\": 1}").expect("written");
    assert!(audit(&[dir.path()]).problems.is_empty());
    let missing = dir.path().join("missing.jsonl");
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).expect("a directory");
    let problems = audit(&[&notes, &missing, &empty]).problems;
    assert!(matches!(problems[0], DiscoveryError::Unknown(_)));
    assert!(matches!(problems[1], DiscoveryError::Unreadable { .. }));
    assert!(matches!(problems[2], DiscoveryError::Empty(_)));
}

#[test]
fn the_order_of_lines_does_not_depend_on_threads() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for id in 1..30 {
        let mut history = History::new(id, "shop");
        history.prompt("Go").works((id % 7) as usize).stuck((id % 5) as usize + 2).says("Done.").write(dir.path());
    }
    let once = audit(&[dir.path()]).lines;
    for _ in 0..3 {
        assert_eq!(audit(&[dir.path()]).lines, once);
    }
}

#[test]
fn nothing_found_is_said_plainly() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let text = audit(&[dir.path()]).text(dir.path());
    assert!(text.starts_with("No session was found"), "{text}");
}
