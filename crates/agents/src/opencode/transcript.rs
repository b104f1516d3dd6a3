//! The two sources of opencode sessions: its database and exported files.

use std::path::Path;

use belay_core::SessionKey;
use belay_core::event::{Body, SessionStarted};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::message::{Info, MessageBuilder, Part, Span};
use super::{ID, database};
use crate::lenient_json::{LenientOption, LenientString};
use crate::transcript::{
    LineError, LineParser, ReadError, ReadStats, Sink, TranscriptEventBuilder, TranscriptFormat, file_stem, fork_ids,
    parse, read_items,
};

/// The database with all sessions.
#[derive(Debug)]
pub struct OpencodeDatabaseFormat;

impl TranscriptFormat for OpencodeDatabaseFormat {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, path: &Path, head: &[u8]) -> bool {
        let named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("opencode"));
        named && head.starts_with(b"SQLite format 3\0")
    }

    fn fork_ids(&self, path: &Path, _head: &[u8]) -> Vec<u64> {
        // An export of any of its sessions is a copy.
        database::session_ids(path).iter().filter_map(|id| fork_ids::of_session_id(ID, id)).collect()
    }

    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<ReadStats, ReadError> {
        database::read(path, sink)
    }
}

/// One session as `opencode export` writes it.
#[derive(Debug)]
pub struct OpencodeExportFormat;

impl TranscriptFormat for OpencodeExportFormat {
    fn agent(&self) -> &'static str {
        ID
    }

    fn recognises(&self, _path: &Path, head: &[u8]) -> bool {
        let head = &head[..head.len().min(1024)];
        let has = |name: &str| memchr::memmem::find(head, name.as_bytes()).is_some();
        head.trim_ascii_start().starts_with(b"{") && has("\"info\"") && has("\"ses_")
    }

    fn fork_ids(&self, _path: &Path, head: &[u8]) -> Vec<u64> {
        ["id", "sessionID"].into_iter().filter_map(|field| fork_ids::first_session(ID, head, field)).collect()
    }

    fn read(&self, path: &Path, sink: &mut dyn Sink) -> Result<ReadStats, ReadError> {
        let mut builder = TranscriptEventBuilder::new(SessionKey::new(ID, file_stem(path)), sink);
        let mut reader = OpencodeParser { transcript: path.to_string_lossy().into_owned(), started: false };
        read_items(path, "messages", &mut reader, &mut builder)
    }
}

struct OpencodeParser {
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
    id: LenientString<'a>,
    #[serde(rename = "parentID")]
    parent: LenientString<'a>,
    directory: LenientString<'a>,
    version: LenientString<'a>,
    time: LenientOption<Span>,
}

impl LineParser for OpencodeParser {
    fn line(&mut self, text: &str, builder: &mut TranscriptEventBuilder<'_>) -> Result<(), LineError> {
        let item: Item<'_> = parse(text)?;
        let info = item.info.map_or("{}", RawValue::get);
        if !self.started {
            self.started = true;
            let header: Header<'_> = serde_json::from_str(info).map_err(|_| LineError::Unknown)?;
            if let Some(id) = header.id.non_empty() {
                builder.session = SessionKey::new(ID, id);
            }
            builder.parent = header.parent.non_empty().map(|id| SessionKey::new(ID, id));
            builder.cwd = header.directory.owned();
            builder.at = header.time.0.unwrap_or_default().created.0;
            builder.push(Body::SessionStarted(SessionStarted {
                agent_version: header.version.owned(),
                project: header.directory.owned(),
                transcript: Some(self.transcript.clone()),
                ..SessionStarted::default()
            }));
            return Ok(());
        }
        let info: Info<'_> = serde_json::from_str(info).map_err(|_| LineError::Unknown)?;
        if info.role.is_empty() {
            return Err(LineError::Unknown);
        }
        let id = info.id.to_string();
        let mut message = MessageBuilder::new(&id, info);
        for part in item.parts {
            if let Ok(part) = serde_json::from_str::<Part<'_>>(part.get()) {
                message.part(part);
            }
        }
        message.flush(builder);
        Ok(())
    }
}
