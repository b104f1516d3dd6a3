//! The two places opencode sessions are read from.

use std::path::Path;

use belay_core::SessionKey;
use belay_core::event::{Body, SessionStarted};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::{Gathered, Info, Part, Span};
use super::{ID, database};
use crate::json::{Maybe, Text};
use crate::transcript::{Dialect, Flaw, Format, ReadError, Sink, Tally, Teller, parse, read_items, stem};

/// The database with all sessions.
#[derive(Debug)]
pub struct Database;

impl Format for Database {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> bool {
        let named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("opencode"));
        named && head.starts_with(b"SQLite format 3\0")
    }

    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<Tally, ReadError> {
        database::read(path, sink)
    }
}

/// One session as `opencode export` writes it.
#[derive(Debug)]
pub struct Export;

impl Format for Export {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> bool {
        let head = &head[..head.len().min(1024)];
        let has = |name: &str| memchr::memmem::find(head, name.as_bytes()).is_some();
        path.extension().is_some_and(|ext| ext == "json") && has("\"info\"") && has("\"ses_")
    }

    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<Tally, ReadError> {
        let mut teller = Teller::new(SessionKey::new(ID, stem(path)), sink);
        let mut reader = Reader { transcript: path.to_string_lossy().into_owned(), started: false };
        read_items(path, "messages", &mut reader, &mut teller)
    }
}

struct Reader {
    transcript: String,
    started: bool,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Item<'a> {
    info: Option<&'a RawValue>,
    parts: Vec<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Header<'a> {
    id: Text<'a>,
    #[serde(rename = "parentID")]
    parent: Text<'a>,
    directory: Text<'a>,
    version: Text<'a>,
    time: Maybe<Span>,
}

impl Dialect for Reader {
    fn line(&mut self, text: &str, teller: &mut Teller<'_>) -> Result<(), Flaw> {
        let item: Item<'_> = parse(text)?;
        let info = item.info.map_or("{}", RawValue::get);
        if !self.started {
            self.started = true;
            let header: Header<'_> = serde_json::from_str(info).map_err(|_| Flaw::Unknown)?;
            if let Some(id) = header.id.some() {
                teller.session = SessionKey::new(ID, id);
            }
            teller.parent = header.parent.some().map(|id| SessionKey::new(ID, id));
            teller.cwd = header.directory.owned();
            teller.at = header.time.0.unwrap_or_default().created.0;
            teller.tell(Body::SessionStarted(SessionStarted {
                agent_version: header.version.owned(),
                project: header.directory.owned(),
                transcript: Some(self.transcript.clone()),
                ..SessionStarted::default()
            }));
            return Ok(());
        }
        let info: Info<'_> = serde_json::from_str(info).map_err(|_| Flaw::Unknown)?;
        if info.role.is_empty() {
            return Err(Flaw::Unknown);
        }
        let id = info.id.to_string();
        let mut message = Gathered::new(&id, info);
        for part in item.parts {
            if let Ok(part) = serde_json::from_str::<Part<'_>>(part.get()) {
                message.part(part);
            }
        }
        message.tell(teller);
        Ok(())
    }
}
