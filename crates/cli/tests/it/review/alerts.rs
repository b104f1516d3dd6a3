//! A task that needs a person alerts, once.

use super::project::{APPROVES, BUILDS, Project};
use crate::receiver::{Receiver, TAKEN};
use crate::world::file_says;

/// A project whose alerts are posted.
fn project_with(receiver: &Receiver) -> Project {
    Project::with_var("BELAY_WEBHOOK_URL", &format!("http://127.0.0.1:{}/", receiver.port))
}

/// Number of messages that were ever enqueued.
fn messages(project: &Project) -> usize {
    let store = rusqlite::Connection::open(project.world.state().join("belay.db")).unwrap();
    store.query_row("SELECT count(*) FROM messages", [], |row| row.get(0)).unwrap()
}

/// Files a task whose only round leaves an issue open, and waits for its end.
fn needs_person(project: &Project) -> String {
    let builder = project.program("builder", BUILDS);
    let reviewer = project.program("reviewer", "echo 'STATUS: ISSUES_FOUND'; echo '- notes.txt:1: it says two'");
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer, "--rounds", "1"]);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    ended.id().to_owned()
}

#[test]
fn a_task_that_needs_a_person_is_posted_once() {
    let receiver = Receiver::start(TAKEN);
    let project = project_with(&receiver);
    project.start_resident();
    let id = needs_person(&project);
    let posted = receiver.next().body;
    assert_eq!(posted["type"], "review.needs_attention", "{posted}");
    assert_eq!(posted["data"]["subject"], serde_json::json!({ "type": "review", "id": id }));
    assert_eq!(posted["data"].get("session"), None, "{posted}");
    assert_eq!(posted["data"]["project"], project.dir().to_str().unwrap());
    let text = posted["data"]["text"].as_str().unwrap();
    let sentence = "\"Write two into notes.txt\": Issues are open after the only round.";
    let details = format!("{sentence} Details: `belay review show {id}` (http://127.0.0.1:");
    assert!(text.starts_with(&details) && text.ends_with(&format!("/reviews/{id}).")), "{text}");
    // Otherwise the next process would repeat the delivery.
    file_says(&project.world.log(), |log| log.contains("alert delivered"));
    project.kill_resident();
    project.start_resident();
    let builder = project.program("gated", BUILDS);
    let ended = project.start(&["--builder", &builder, "--accept", "true"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let posted = receiver.next().body;
    assert_eq!(
        (posted["type"].as_str(), posted["data"]["subject"]["id"].as_str()),
        (Some("review.done"), Some(ended.id()))
    );
    assert_eq!((receiver.rest().len(), messages(&project)), (0, 2));
}

#[test]
fn a_need_that_was_recorded_and_not_enqueued_is_posted_after_the_next_start() {
    let receiver = Receiver::start(TAKEN);
    let project = project_with(&receiver);
    project.start_resident();
    let id = needs_person(&project);
    let first = receiver.next();
    project.kill_resident();
    // As if the process had been killed between the record of the task and the message.
    let store = rusqlite::Connection::open(project.world.state().join("belay.db")).unwrap();
    store.execute("DELETE FROM deliveries", []).unwrap();
    assert_eq!(store.execute("DELETE FROM messages", []).unwrap(), 1);
    drop(store);
    project.start_resident();
    let second = receiver.next();
    assert_eq!(second.body["data"]["subject"]["id"], id);
    assert_eq!(second.header("webhook-id"), first.header("webhook-id"));
}

#[test]
fn what_a_person_decided_alerts_nobody() {
    let receiver = Receiver::start(TAKEN);
    let project = project_with(&receiver);
    project.start_resident();
    let id = needs_person(&project);
    assert_eq!(receiver.next().body["type"], "review.needs_attention");
    project.ok(&["answer", &id, "--done"]);
    assert_eq!(project.show(&id)["phase"], "done");
    let reviewer = project.program("approver", APPROVES);
    let builder = project.program("second", BUILDS);
    let ended = project.start(&["--builder", &builder, "--reviewer", &reviewer]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let posted = receiver.next().body;
    assert_eq!(posted["data"]["subject"]["id"], ended.id(), "{posted}");
    assert_eq!(messages(&project), 2);
}

#[test]
fn what_needed_a_person_long_ago_is_not_posted_after_an_upgrade() {
    let receiver = Receiver::start(TAKEN);
    let project = project_with(&receiver);
    project.start_resident();
    let id = needs_person(&project);
    receiver.next();
    project.kill_resident();
    // As in a store of a version that sent no alerts about tasks.
    let store = rusqlite::Connection::open(project.world.state().join("belay.db")).unwrap();
    store.execute("DELETE FROM deliveries", []).unwrap();
    store.execute("DELETE FROM messages", []).unwrap();
    drop(store);
    let path = project.task_dir(&id).join("meta.json");
    let mut summary: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    summary["since"] = "2020-01-01T00:00:00.000Z".into();
    std::fs::write(&path, summary.to_string()).unwrap();
    project.start_resident();
    let ended = project.start(&["--builder", &project.program("gated", BUILDS), "--accept", "true"]);
    assert_eq!(receiver.next().body["data"]["subject"]["id"], ended.id());
    assert_eq!(messages(&project), 1);
}
