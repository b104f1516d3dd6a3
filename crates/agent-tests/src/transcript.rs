//! A CLI's own records of its sessions.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::agent_setups::Transcripts;

/// One transcript: the JSON lines of a file, or the rows of a database.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    pub file: PathBuf,
    pub lines: Vec<Value>,
}

/// Sorted by file name.
pub(crate) fn find(place: Transcripts, home: &Path) -> io::Result<Vec<Transcript>> {
    match place {
        Transcripts::Files { below, ending } => {
            let mut files = Vec::new();
            walk(&home.join(below), ending, &mut files)?;
            files.sort();
            files.into_iter().map(read_lines).collect()
        }
        Transcripts::Opencode { database } => {
            let file = home.join(database);
            if !file.exists() {
                return Ok(vec![]);
            }
            let lines = read_opencode(&file).map_err(io::Error::other)?;
            Ok(vec![Transcript { file, lines }])
        }
    }
}

fn walk(dir: &Path, ending: &str, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, ending, found)?;
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    Ok(())
}

fn read_lines(file: PathBuf) -> io::Result<Transcript> {
    let text = fs::read_to_string(&file)?;
    let parse =
        |line| serde_json::from_str(line).map_err(|error| io::Error::other(format!("{}: {error}", file.display())));
    let lines = text.lines().filter(|line| !line.trim().is_empty()).map(parse).collect::<io::Result<_>>()?;
    Ok(Transcript { file, lines })
}

fn read_opencode(file: &Path) -> rusqlite::Result<Vec<Value>> {
    let database = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut query = database.prepare(
        "SELECT 'message', id, session_id, data, time_created, 0 FROM message \
         UNION ALL SELECT 'part', p.id, p.session_id, p.data, m.time_created, 1 FROM part p JOIN message m \
         ON m.id = p.message_id ORDER BY 5, 6, 2",
    )?;
    let rows = query.query_map([], |row| {
        let data: String = row.get(3)?;
        let data = serde_json::from_str(&data).unwrap_or(Value::String(data));
        Ok(json!({"record": row.get::<_, String>(0)?, "session": row.get::<_, String>(2)?, "data": data}))
    })?;
    rows.collect()
}
