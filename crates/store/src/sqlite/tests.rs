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
    assert_eq!(sync_after(Durability::ProcessCrash), "1", "NORMAL");
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
            after: Some(crate::Cursor { last_at: Timestamp::UNKNOWN, id: crate::SessionId(1) }),
            ..SessionQuery::default()
        },
    ];
    for query in queries {
        let plan = plan(&sessions::statement(&query).unwrap().0);
        assert!(!plan.contains("TEMP B-TREE"), "{query:?} sorts:\n{plan}");
        assert!(plan.contains("sessions_newest") || plan.contains("sessions_held"), "{query:?}:\n{plan}");
    }
    for condition in name_lookup::CONDITIONS {
        let plan = plan(&format!("SELECT agent, native_id FROM sessions WHERE {condition} LIMIT 9"));
        assert!(plan.contains("SEARCH") && !plan.contains("TEMP B-TREE"), "{condition}:\n{plan}");
    }
}

/// Whoever comes from a version whose log had an index of identities loses nothing.
#[test]
fn an_earlier_version_s_identities_are_taken_along_and_its_graves_emptied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("belay.db");
    let old = Connection::open(&path).unwrap();
    migrate::apply_migrations(&old, 0, 2).unwrap();
    old.execute_batch(
        "INSERT INTO sessions (id, agent, native_id, version, tip) VALUES (1, 'claude-code', 'lives', 2, 3);
         INSERT INTO graves (session) VALUES (2);
         INSERT INTO events (ord, session, seq, prev, identity, at, kind, rules, json) VALUES
             (1, 1, 1, NULL, -11, 1, 'tick', 0, '{}'), (2, 2, 1, NULL, 21, 1, 'tick', 0, '{}'),
             (3, 1, 2, 1, 12, 1, 'tick', 0, '{}'), (4, 2, 9, 7, 22, 1, 'tick', 0, '{}');",
    )
    .unwrap();
    drop(old);

    let mut store = SqliteStore::open(&path, OpenOptions::default()).unwrap();
    let mut transaction = store.begin(Durability::ProcessCrash).unwrap();
    let mut append = |identity| {
        let (at, kind, rules, json) = (Timestamp::from_millis(2), "tick", belay_core::Digest(0), "{}");
        let event = crate::NewEvent { seq: 3, identity: belay_core::Digest(identity), at, kind, rules, json };
        transaction.append(crate::SessionId(1), &event).unwrap()
    };
    assert_eq!([append((-11_i64).cast_unsigned()), append(12), append(13)], [false, false, true]);
    drop(transaction);
    let retention = crate::Retention { max_age: std::time::Duration::MAX, max_bytes: u64::MAX };
    while store.prune(&retention, Timestamp::from_millis(3)).unwrap().more {}
    let count = |table: &str| -> i64 {
        store.conn.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!([count("events"), count("filed"), count("graves")], [2, 1, 0], "the dead have left nothing");
}
