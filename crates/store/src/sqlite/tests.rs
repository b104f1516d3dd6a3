//! Tests that need access to the connection.

use rusqlite::types::Value;

use super::*;

fn pragma(store: &SqliteStore, name: &str) -> String {
    match store.conn.pragma_query_value(None, name, |row| row.get(0)).unwrap() {
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text,
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn durability_selects_the_sync_mode() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(dir.path().join("belay.db"), OpenOptions::default()).unwrap();
    assert_eq!(pragma(&store, "journal_mode"), "wal");
    let mut sync_after = |durability| {
        drop(store.begin(durability).unwrap());
        pragma(&store, "synchronous")
    };
    assert_eq!(sync_after(Durability::PowerCut), "2", "FULL");
    assert_eq!(sync_after(Durability::ProcessCrash), "1", "NORMAL");
    assert_eq!(sync_after(Durability::PowerCut), "2", "FULL");
}

#[test]
fn vacuum_is_incremental_and_foreign_keys_are_enforced() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path().join("belay.db"), OpenOptions::default()).unwrap();
    assert_eq!(pragma(&store, "auto_vacuum"), "2", "incremental");
    assert_eq!(pragma(&store, "foreign_keys"), "1");
}

/// Frequent queries must not scan the store.
#[test]
fn lists_names_and_events_use_an_index() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path().join("belay.db"), OpenOptions::default()).unwrap();
    let plan = |sql: &str| -> String {
        let mut statement = store.conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let count = statement.parameter_count();
        let nulls = vec![rusqlite::types::Null; count];
        let lines = statement.query_map(rusqlite::params_from_iter(nulls), |row| row.get::<_, String>(3)).unwrap();
        lines.collect::<rusqlite::Result<Vec<_>>>().unwrap().join("\n")
    };
    let queries = [
        SessionQuery::default(),
        SessionQuery { agent: Some("codex".into()), ..SessionQuery::default() },
        SessionQuery { states: vec!["ended".into()], archived: true, ..SessionQuery::default() },
        SessionQuery { states: vec!["paused".into()], ..SessionQuery::default() },
        SessionQuery { after: Some(crate::Cursor { value: 0, id: crate::SessionId(1) }), ..SessionQuery::default() },
    ];
    for query in queries {
        let plan = plan(&sessions::statement(&query).unwrap().0);
        assert!(!plan.contains("TEMP B-TREE"), "{query:?} sorts:\n{plan}");
        assert!(plan.contains("sessions_newest") || plan.contains("sessions_held"), "{query:?}:\n{plan}");
    }
    let event_queries = [
        EventQuery::default(),
        EventQuery { order: crate::Order::Last, kinds: vec!["note".into()], ..EventQuery::default() },
        EventQuery { session: Some(SessionKey::new("codex", "a")), after: Some(9), ..EventQuery::default() },
        EventQuery { session: Some(SessionKey::new("codex", "a")), order: crate::Order::Last, ..EventQuery::default() },
    ];
    for query in event_queries {
        let plan = plan(&events::statement(&query).unwrap().0);
        assert!(!plan.contains("TEMP B-TREE") && !plan.contains("SCAN e"), "{query:?}:\n{plan}");
    }
    for condition in name_lookup::CONDITIONS {
        let plan = plan(&format!("SELECT agent, native_id FROM sessions WHERE {condition} LIMIT 9"));
        assert!(plan.contains("SEARCH") && !plan.contains("TEMP B-TREE"), "{condition}:\n{plan}");
    }
}
