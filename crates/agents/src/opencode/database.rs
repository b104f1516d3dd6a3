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
    let mut tally = ReadStats::default();
    let mut reader = Reader { database: &database, tally: &mut tally, transcript: path.to_string_lossy().into_owned() };
    reader.all(sink).map_err(fail)?;
    Ok(tally)
}

/// Opens without writing anything. A database nobody has open and whose folder we may not write to
/// can only be read as immutable.
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

struct Reader<'a> {
    database: &'a Connection,
    tally: &'a mut ReadStats,
    transcript: String,
}

impl Reader<'_> {
    fn all(&mut self, sink: &mut dyn Sink) -> rusqlite::Result<()> {
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
            self.session(session, sink)?;
        }
        Ok(())
    }

    fn session(&mut self, session: Session, sink: &mut dyn Sink) -> rusqlite::Result<()> {
        let mut teller = TranscriptEventBuilder::new(SessionKey::new(ID, &session.id), sink);
        teller.parent = session.parent.map(|id| SessionKey::new(ID, id));
        teller.cwd.clone_from(&session.directory);
        teller.at = Timestamp::from_millis(session.created);
        teller.start_record(format_args!("{}", session.id));
        teller.push(Body::SessionStarted(SessionStarted {
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
            let Some(data) = self.text(row, &mut teller)? else { continue };
            let Ok(info) = serde_json::from_str::<Info<'_>>(&data) else {
                self.tally.record_error(LineError::Malformed);
                continue;
            };
            let mut message = MessageBuilder::new(&id, info);
            self.parts(&id, &mut message, &mut teller)?;
            message.flush(&mut teller);
        }
        Ok(())
    }

    fn parts(
        &mut self,
        id: &str,
        message: &mut MessageBuilder<'_>,
        teller: &mut TranscriptEventBuilder<'_>,
    ) -> rusqlite::Result<()> {
        let mut parts = self
            .database
            .prepare_cached("SELECT id, data, length(data) FROM part WHERE message_id = ?1 ORDER BY id")?;
        let mut rows = parts.query([id])?;
        while let Some(row) = rows.next()? {
            let Some(data) = self.text(row, teller)? else { continue };
            match serde_json::from_str::<Part<'_>>(&data) {
                Ok(part) => message.part(part),
                Err(_) => self.tally.record_error(LineError::Malformed),
            }
        }
        Ok(())
    }

    /// The `data` of a row, unless it is too long or no text.
    fn text(&mut self, row: &Row<'_>, teller: &mut TranscriptEventBuilder<'_>) -> rusqlite::Result<Option<String>> {
        self.tally.lines += 1;
        let length = usize::try_from(row.get::<_, i64>(2)?).unwrap_or(usize::MAX);
        if length > MAX_LINE {
            self.tally.record_error(LineError::TooLong);
            return Ok(None);
        }
        let data = row.get_ref(1)?;
        let Ok(text) = data.as_str() else {
            self.tally.record_error(LineError::Binary);
            return Ok(None);
        };
        self.tally.bytes += text.len() as u64;
        teller.progress(text.len() as u64);
        Ok(Some(text.to_owned()))
    }
}
