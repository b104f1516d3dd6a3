//! What only a look at the connection itself can tell.

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
fn a_power_cut_is_outlived_by_full_sync_and_the_rest_by_the_wal() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(folder.path().join("belay.db"), OpenOptions::default()).unwrap();
    assert_eq!(pragma(&store, "journal_mode"), "wal");
    let mut sync_after = |durability| {
        drop(store.begin(durability).unwrap());
        pragma(&store, "synchronous")
    };
    assert_eq!(sync_after(Durability::PowerCut), "2", "FULL");
    assert_eq!(sync_after(Durability::Process), "1", "NORMAL");
    assert_eq!(sync_after(Durability::PowerCut), "2", "FULL");
}

#[test]
fn room_can_be_given_back_and_rows_belong_to_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("belay.db"), OpenOptions::default()).unwrap();
    assert_eq!(pragma(&store, "auto_vacuum"), "2", "incremental");
    assert_eq!(pragma(&store, "foreign_keys"), "1");
}

/// The questions that are asked all the time must not read the whole store.
#[test]
fn lists_and_names_go_by_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("belay.db"), OpenOptions::default()).unwrap();
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
        SessionQuery {
            after: Some(crate::Cursor { last_at: Time::UNKNOWN, id: crate::SessionId(1) }),
            ..SessionQuery::default()
        },
    ];
    for query in queries {
        let plan = plan(&sessions::statement(&query).unwrap().0);
        assert!(!plan.contains("TEMP B-TREE"), "{query:?} sorts:\n{plan}");
        assert!(plan.contains("sessions_newest") || plan.contains("sessions_held"), "{query:?}:\n{plan}");
    }
    for condition in names::CONDITIONS {
        let plan = plan(&format!("SELECT agent, native_id FROM sessions WHERE {condition} LIMIT 9"));
        assert!(plan.contains("SEARCH") && !plan.contains("TEMP B-TREE"), "{condition}:\n{plan}");
    }
}
