//! opencode's SQLite database, read row by row and never written to.

use std::path::Path;

use belay_core::event::{Body, SessionStarted};
use belay_core::{SessionKey, Timestamp};
use rusqlite::{Connection, OpenFlags, Row};

use super::ID;
use super::message::{Info, MessageBuilder, Part};
use crate::transcript::{LineError, MAX_LINE, ReadError, ReadStats, Sink, TranscriptEventBuilder};

struct Session {
    id: String,
    parent: Option<String>,
    directory: Option<String>,
    version: Option<String>,
    created: i64,
}

pub(super) fn read(path: &Path, sink: &mut dyn Sink) -> Result<ReadStats, ReadError> {
    let fail = |source| ReadError::Database { path: path.to_owned(), source };
    let database = open(path).map_err(fail)?;
    let mut stats = ReadStats::default();
    let mut reader =
        DatabaseReader { database: &database, stats: &mut stats, transcript: path.to_string_lossy().into_owned() };
    reader.read_sessions(sink).map_err(fail)?;
    Ok(stats)
}

/// The ids of the sessions; none if the database cannot be read.
pub(super) fn session_ids(path: &Path) -> Vec<String> {
    let ids = |database: Connection| {
        let mut rows = database.prepare("SELECT id FROM session ORDER BY id LIMIT ?1")?;
        rows.query_map([MAX_SESSION_IDS], |row| row.get(0))?.collect()
    };
    open(path).and_then(ids).unwrap_or_default()
}

/// Of more sessions, exports of the others count twice.
const MAX_SESSION_IDS: u32 = 100_000;

/// Opens the database read-only. A database that no process has open, in a directory that is not writable, can only be
/// opened as immutable.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let probe = |database: Connection| {
        database.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(database)
    };
    let opened = Connection::open_with_flags(path, flags).and_then(probe);
    opened.or_else(|error| {
        let plain = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let immutable = Connection::open_with_flags(format!("file:{plain}?immutable=1"), flags).and_then(probe);
        immutable.map_err(|_| error)
    })
}

struct DatabaseReader<'a> {
    database: &'a Connection,
    stats: &'a mut ReadStats,
    transcript: String,
}

impl DatabaseReader<'_> {
    fn read_sessions(&mut self, sink: &mut dyn Sink) -> rusqlite::Result<()> {
        let mut sessions = self
            .database
            .prepare("SELECT id, parent_id, directory, version, time_created FROM session ORDER BY time_created, id")?;
        let mut rows = sessions.query([])?;
        while let Some(row) = rows.next()? {
            let session = Session {
                id: row.get(0)?,
                parent: row.get(1)?,
                directory: row.get(2)?,
                version: row.get(3)?,
                created: row.get(4).unwrap_or_default(),
            };
            self.read_session(session, sink)?;
        }
        Ok(())
    }

    fn read_session(&mut self, session: Session, sink: &mut dyn Sink) -> rusqlite::Result<()> {
        let mut builder = TranscriptEventBuilder::new(SessionKey::new(ID, &session.id), sink);
        builder.parent = session.parent.map(|id| SessionKey::new(ID, id));
        builder.cwd.clone_from(&session.directory);
        builder.at = Timestamp::from_millis(session.created);
        builder.start_record(format_args!("{}", session.id));
        builder.push(Body::SessionStarted(SessionStarted {
            agent_version: session.version,
            project: session.directory,
            transcript: Some(self.transcript.clone()),
            ..SessionStarted::default()
        }));
        let mut messages = self.database.prepare_cached(
            "SELECT id, data, length(data) FROM message WHERE session_id = ?1 ORDER BY time_created, id",
        )?;
        let mut rows = messages.query([&session.id])?;
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            let Some(data) = self.row_text(row, &mut builder)? else { continue };
            let Ok(info) = serde_json::from_str::<Info<'_>>(&data) else {
                self.stats.record_error(LineError::Malformed);
                continue;
            };
            let mut message = MessageBuilder::new(&id, info);
            self.read_parts(&id, &mut message, &mut builder)?;
            message.flush(&mut builder);
        }
        Ok(())
    }

    fn read_parts(
        &mut self,
        id: &str,
        message: &mut MessageBuilder<'_>,
        builder: &mut TranscriptEventBuilder<'_>,
    ) -> rusqlite::Result<()> {
        let mut parts = self
            .database
            .prepare_cached("SELECT id, data, length(data) FROM part WHERE message_id = ?1 ORDER BY id")?;
        let mut rows = parts.query([id])?;
        while let Some(row) = rows.next()? {
            let Some(data) = self.row_text(row, builder)? else { continue };
            match serde_json::from_str::<Part<'_>>(&data) {
                // The id is a column of its own.
                Ok(part) => message.part(part.with_id(&row.get::<_, String>(0)?)),
                Err(_) => self.stats.record_error(LineError::Malformed),
            }
        }
        Ok(())
    }

    /// The `data` of a row, unless it is too long or binary.
    fn row_text(
        &mut self,
        row: &Row<'_>,
        builder: &mut TranscriptEventBuilder<'_>,
    ) -> rusqlite::Result<Option<String>> {
        self.stats.lines += 1;
        let length = usize::try_from(row.get::<_, i64>(2)?).unwrap_or(usize::MAX);
        if length > MAX_LINE {
            self.stats.record_error(LineError::TooLong);
            return Ok(None);
        }
        let data = row.get_ref(1)?;
        let Ok(text) = data.as_str() else {
            self.stats.record_error(LineError::Binary);
            return Ok(None);
        };
        self.stats.bytes += text.len() as u64;
        builder.progress(text.len() as u64);
        Ok(Some(text.to_owned()))
    }
}
