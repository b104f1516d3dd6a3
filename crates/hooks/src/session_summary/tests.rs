use belay_core::effect::Spend;
use belay_core::event::Usage;
use belay_core::{SessionKey, SessionState, Timestamp};
use belay_store::SessionId;
use belay_store::session::{SessionDetails, SessionRow};

use super::{summary_sentence, write_result};

fn row(id: &str) -> SessionRow {
    let mut card = SessionDetails::default();
    card.facts.started_at = Timestamp::parse("2026-11-15T18:00:00Z").expect("a time");
    card.facts.last_at = Timestamp::parse("2026-11-15T18:11:30Z").expect("a time");
    card.counters.calls = 34;
    card.spent = Spend {
        usage: Usage { input: 100_000, output: 20_000, ..Usage::default() },
        cost_micros: 840_000,
        ..Spend::default()
    };
    let key = SessionKey::new("codex", id);
    SessionRow {
        id: SessionId(1),
        key,
        parent: None,
        version: 1,
        state: SessionState::Active,
        descendants: Spend::default(),
        details: card,
    }
}

#[test]
fn one_sentence_says_what_it_came_to() {
    let mut row = row("a");
    insta::assert_snapshot!(summary_sentence(&row).expect("a sentence"), @"Belay: 34 calls in 12 minutes, 120k tokens ($0.84), no interventions.");
    row.details.counters.nudges = 2;
    insta::assert_snapshot!(summary_sentence(&row).expect("a sentence"), @"Belay: 34 calls in 12 minutes, 120k tokens ($0.84), 2 nudges; about 7.1k tokens of repetition avoided.");
    row.details.counters.pauses = 1;
    row.details.spent = Spend::default();
    insta::assert_snapshot!(summary_sentence(&row).expect("a sentence"), @"Belay: 34 calls in 12 minutes, 2 nudges, 1 pause.");
    row.details.counters.calls = 0;
    assert_eq!(summary_sentence(&row), None);
}

#[test]
fn the_worst_session_decides_about_the_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let status = || {
        let text = std::fs::read_to_string(dir.path().join("belay-result.json")).expect("a result");
        let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        (read["status"].as_str().expect("a word").to_owned(), read["sessions"].as_array().expect("a list").len())
    };
    write_result(dir.path(), &row("a")).expect("written");
    assert_eq!(status(), ("clean".to_owned(), 1));
    let mut held = row("b");
    let since = held.details.facts.last_at;
    held.state = SessionState::Paused { incident: "inc-1".into(), since, until: None, gate: Default::default() };
    write_result(dir.path(), &held).expect("written");
    assert_eq!(status(), ("paused".to_owned(), 2));
    held.state = SessionState::Active;
    held.details.counters.pauses = 1;
    write_result(dir.path(), &held).expect("written");
    assert_eq!(status(), ("interventions".to_owned(), 2));
}

/// A repository may contain a `belay-result.json` that links to a file of the user.
#[test]
fn a_result_file_that_is_a_link_is_replaced_and_its_target_untouched() {
    let dir = tempfile::tempdir().expect("a directory");
    let (target, missing) = (dir.path().join("target"), dir.path().join("missing"));
    std::fs::write(&target, "untouched").expect("written");
    for link in [&target, &missing] {
        let project = tempfile::tempdir().expect("a directory");
        let result = project.path().join("belay-result.json");
        std::os::unix::fs::symlink(link, &result).expect("a link");
        write_result(project.path(), &row("a")).expect("written");
        assert!(result.symlink_metadata().expect("a file").is_file());
    }
    assert_eq!(std::fs::read_to_string(&target).expect("readable"), "untouched");
    assert!(!missing.exists());
}

#[test]
fn a_result_is_not_written_through_a_link_of_the_repository() {
    let dir = tempfile::tempdir().expect("a directory");
    let (project, other) = (dir.path().join("project"), dir.path().join("other"));
    for repository in [&project, &other] {
        std::fs::create_dir_all(repository.join(".git")).expect("a directory");
    }
    std::fs::create_dir(project.join("real")).expect("a directory");
    std::os::unix::fs::symlink(&other, project.join("linked")).expect("a link");
    write_result(&project.join("real"), &row("a")).expect("written");
    let error = write_result(&project.join("linked"), &row("a")).expect_err("a link");
    assert!(error.to_string().ends_with("is a symbolic link, which is not followed"), "{error}");
    assert!(!other.join("belay-result.json").exists());
    // The user's own link to a repository is not part of one.
    let own = dir.path().join("own");
    std::os::unix::fs::symlink(&project, &own).expect("a link");
    write_result(&own, &row("a")).expect("written");
    assert!(project.join("belay-result.json").exists());
}

/// With a blocking lock, this test hangs.
#[test]
fn a_lock_that_another_process_keeps_does_not_block() {
    let dir = tempfile::tempdir().expect("a directory");
    let kept = std::fs::File::open(dir.path()).expect("a directory");
    kept.lock().expect("a lock");
    write_result(dir.path(), &row("a")).expect("written");
    assert!(dir.path().join("belay-result.json").exists());
}
