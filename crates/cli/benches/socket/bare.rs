//! The baseline server: stores what it receives in a SQLite table and reads it back.
//!
//! It supports two protocols. In Belay's protocol it parses the same lines and events and responds in the same format,
//! so that the difference is the engine. In its own protocol it gets plain text and responds with one word.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use belay_core::{Decision, EventOutcome};
use belay_ipc::protocol::parse_request;
use belay_ipc::{EventResult, ObserveResponse, Operation, Response, ResponseBody};
use rusqlite::Connection;

pub(crate) fn socket(home: &Path) -> PathBuf {
    home.join("sock")
}

/// Asks in the server's own way.
pub(crate) struct Bare(BufReader<UnixStream>);

impl Bare {
    pub(crate) fn connect(home: &Path) -> Self {
        Self(BufReader::new(UnixStream::connect(socket(home)).unwrap()))
    }

    pub(crate) fn ask(&mut self, json: &str) {
        self.0.get_mut().write_all(format!("N{json}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        self.0.read_line(&mut answer).unwrap();
        assert!(answer.starts_with("ok"));
    }
}

/// Serves until it is killed.
pub(crate) fn serve(home: &Path) {
    let conn = Connection::open(home.join("bare.db")).unwrap();
    conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    conn.pragma_update(None, "synchronous", "NORMAL").unwrap();
    conn.execute_batch("CREATE TABLE log (id INTEGER PRIMARY KEY, session TEXT NOT NULL, body TEXT NOT NULL)").unwrap();
    let conn = Arc::new(Mutex::new(conn));
    let listener = UnixListener::bind(socket(home)).unwrap();
    println!("ready");
    for stream in listener.incoming() {
        let (stream, conn) = (stream.unwrap(), Arc::clone(&conn));
        std::thread::spawn(move || {
            let mut answers = stream.try_clone().unwrap();
            let mut lines = BufReader::new(stream);
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
                let answer = match line.strip_prefix('N') {
                    Some(body) => format!("ok {}\n", insert(&conn.lock().unwrap(), false, body).1).into_bytes(),
                    None => answer(&conn, &line),
                };
                answers.write_all(&answer).unwrap();
                line.clear();
            }
        });
    }
}

/// Answers a line of our protocol.
fn answer(conn: &Mutex<Connection>, line: &str) -> Vec<u8> {
    let outcome = |(id, _): (i64, String)| EventOutcome {
        decision: Decision::default(),
        seq: Some(u64::try_from(id).unwrap()),
        committed: true,
    };
    match parse_request(line.as_bytes(), "").unwrap().1 {
        Operation::Decide(request) => {
            let json = serde_json::to_string(&request).unwrap();
            reply(&outcome(insert(&conn.lock().unwrap(), true, &json)))
        }
        Operation::Observe(request) => {
            let rows = request.events.iter().map(|event| insert(&conn.lock().unwrap(), false, event.get()));
            reply(&ObserveResponse { answers: rows.map(|row| EventResult::Accepted(outcome(row))).collect() })
        }
        other => panic!("{other:?}"),
    }
}

fn reply<T: serde::Serialize>(answer: &T) -> Vec<u8> {
    let mut line = serde_json::to_vec(&Response { id: None, body: ResponseBody::Ok(answer) }).unwrap();
    line.push(b'\n');
    line
}

fn insert(conn: &Connection, full: bool, body: &str) -> (i64, String) {
    if full {
        conn.pragma_update(None, "synchronous", "FULL").unwrap();
    }
    conn.prepare_cached("BEGIN IMMEDIATE").unwrap().execute([]).unwrap();
    conn.prepare_cached("INSERT INTO log (session, body) VALUES ('s', ?1)").unwrap().execute([body]).unwrap();
    let id = conn.last_insert_rowid();
    let mut select = conn.prepare_cached("SELECT session FROM log WHERE id = ?1").unwrap();
    let session = select.query_row([id], |row| row.get::<_, String>(0)).unwrap();
    conn.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
    if full {
        conn.pragma_update(None, "synchronous", "NORMAL").unwrap();
    }
    (id, session)
}
