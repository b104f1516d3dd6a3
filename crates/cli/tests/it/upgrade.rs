//! Stores and configurations of earlier versions.

use rusqlite::Connection;
use serde_json::Value;

use crate::hook::{hook, payload};
use crate::http::{body, status};
use crate::resident::Serve;
use crate::world::{World, call, lines};

/// Turns the store into one of version 1, which kept neither calls nor spend by hour, and no phase of a session.
fn downgrade(world: &World) {
    let store = Connection::open(world.paths().database()).unwrap();
    store.execute_batch("DROP TABLE calls; DROP TABLE spend; DELETE FROM snapshots; PRAGMA user_version = 1;").unwrap();
    let rows: Vec<(i64, String)> = store
        .prepare("SELECT id, details_json FROM sessions")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (id, details) in rows {
        let mut details: Value = serde_json::from_str(&details).unwrap();
        let kept = ["facts", "counters", "spent", "clock", "budget", "incident", "incident_sentence", "waiting"];
        details.as_object_mut().unwrap().retain(|name, _| kept.contains(&name.as_str()));
        store.execute("UPDATE sessions SET details_json = ?2 WHERE id = ?1", (id, details.to_string())).unwrap();
    }
}

#[test]
fn sessions_of_version_1_open_with_their_calls() {
    let world = World::alone();
    for n in 0..40 {
        let call = format!("t{n}");
        hook(&world, &payload("PreToolUse", "old", &call, &format!("step {n}")));
        hook(&world, &payload("PostToolUse", "old", &call, &format!("step {n}")));
    }
    world.run_with(&["events", "post"], &lines(&[call("e1", "short", "ls -la")]));
    downgrade(&world);
    let serve = Serve::start(&world);

    let page = serve.get("/sessions/old");
    assert_eq!(status(&page), "200", "{page}");
    assert!(page.contains("step 39") && page.contains("step 0"), "{page}");
    let view = body(&serve.get("/api/v1/sessions/old/page"));
    let calls = view["picture"]["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 40, "{view:#}");
    assert!(serve.get("/sessions/short").contains("ls -la"));
    assert_eq!(status(&serve.get("/")), "200");
    assert_eq!(world.run(&["sessions", "--json"]).json()["sessions"].as_array().unwrap().len(), 2);

    // The session continues: what is new is kept, what is old is still derived.
    hook(&world, &payload("PreToolUse", "old", "t40", "step 40"));
    let view = body(&serve.get("/api/v1/sessions/old/page"));
    let calls = view["picture"]["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 41, "{view:#}");
    assert!(calls[40].to_string().contains("step 40") && calls[0].to_string().contains("step 0"), "{calls:#?}");
    let verified = world.run(&["doctor", "--json"]);
    assert!(!verified.out.contains("quick_check"), "{verified:?}");
}

/// A store and a configuration as they were before reviews shared their parts with other drivers: a session that loops,
/// one with a declared wait, a limit and a budget, an open permission prompt, a killed and an archived session.
#[test]
fn a_recorded_store_and_configuration_give_the_same_views() {
    let world = World::alone();
    world.write("home/.config/belay/config.toml", include_str!("fixtures/version_2/config.toml"));
    let database = world.paths().database();
    std::fs::create_dir_all(database.parent().unwrap()).unwrap();
    let store = Connection::open(&database).unwrap();
    store.execute_batch(include_str!("fixtures/version_2/belay.sql")).unwrap();
    drop(store);

    let views: Vec<String> = [
        &["sessions", "--all"][..],
        &["show", "claude-code:loops"],
        &["show", "codex:limits"],
        &["show", "claude-code:asks"],
        &["explain", "claude-code:loops"],
        &["incidents", "--all"],
        &["budget"],
        &["events", "tail"],
        &["config", "get", "review.reviewers"],
        &["config", "get", "drive.runs_per_account"],
    ]
    .map(|args| world.run_text(args))
    .to_vec();
    insta::assert_snapshot!(views.join("\n"));

    // What is held stays held, and the resident process shows the recorded calls.
    let denied = hook(&world, &payload("PreToolUse", "loops", "t7", "make"));
    assert!(denied.out.contains("deny"), "{denied:?}");
    let serve = Serve::start(&world);
    let view = body(&serve.get("/api/v1/sessions/claude-code:loops/page"));
    assert_eq!(view["picture"]["calls"].as_array().unwrap().len(), 7, "six recorded, one denied: {view:#}");
}
