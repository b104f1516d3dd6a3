//! Finds session files and the format of each.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use belay_agents::{AGENTS, AgentSpec, TranscriptFormat, UserDirs};
use belay_core::Timestamp;
use belay_fs::Links;

/// Bytes read from each file to detect its format and the files it copies.
use belay_agents::transcript::HEAD_BYTES;

/// File name extensions of session files.
const EXTENSIONS: &[&str] = &["jsonl", "json", "db", "md"];

/// Where to search.
#[derive(Clone, Debug)]
pub enum SearchScope {
    /// The history directories of all agents of this user; `here` is the working directory, for agents that keep their
    /// history in the project.
    User { dirs: UserDirs, here: PathBuf },
    /// These files and directories.
    Paths(Vec<PathBuf>),
}

/// Restricts the search.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchFilter {
    /// Only files of this agent.
    pub agent: Option<&'static str>,
    /// Only files of this format (`toolcalls`).
    pub format: Option<&'static str>,
    /// Only files changed since then.
    pub since: Option<SystemTime>,
}

/// A session file and its reader.
#[derive(Clone, Debug)]
pub struct SessionFile {
    pub path: PathBuf,
    pub format: &'static dyn TranscriptFormat,
    pub bytes: u64,
    /// Time of its first record, or of the last modification if it has none near its beginning.
    pub started: SystemTime,
    /// Time of the last modification.
    pub modified: SystemTime,
    /// Ids near its beginning; a file that copies another one shares some of them.
    pub marks: Vec<u64>,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct Discovery {
    /// Session files, in order of their paths.
    pub sources: Vec<SessionFile>,
    /// Named paths that contain no session, with the reason.
    pub problems: Vec<DiscoveryError>,
    /// Files in named directories that look like sessions but were not recognised: the first few.
    pub left_out: Vec<PathBuf>,
    /// Number of such files.
    pub left_out_count: u64,
}

/// Maximum number of left out files that are named.
const MAX_LEFT_OUT: usize = 5;

/// Why a named path contains no session.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The format is unknown.
    #[error("{} is not a session file of a supported agent", .0.display())]
    Unknown(PathBuf),
    /// A directory without session files.
    #[error("{} contains no session file of a supported agent", .0.display())]
    Empty(PathBuf),
}

/// Finds session files.
pub fn find(place: &SearchScope, only: SearchFilter) -> Discovery {
    let mut search = Search { only, found: Discovery::default(), seen: HashSet::new(), head: Vec::new() };
    match place {
        SearchScope::User { dirs, here } => {
            for agent in AGENTS.iter().filter(|agent| only.agent.is_none_or(|id| id == agent.id)) {
                for root in agent.transcript_roots(dirs).into_iter().chain(agent.project_transcripts(here)) {
                    search.walk(&root, Some(agent));
                }
            }
        }
        SearchScope::Paths(paths) => paths.iter().for_each(|path| search.named(path)),
    }
    search.found.sources.sort_by(|a, b| a.path.cmp(&b.path));
    search.found
}

struct Search {
    only: SearchFilter,
    found: Discovery,
    seen: HashSet<PathBuf>,
    /// The first bytes of the current file.
    head: Vec<u8>,
}

impl Search {
    /// Searches a path the user named. Problems are reported.
    fn named(&mut self, path: &Path) {
        match fs::metadata(path) {
            Ok(kind) if kind.is_dir() => {
                let before = self.found.sources.len();
                self.walk(path, None);
                if self.found.sources.len() == before && self.only.since.is_none() {
                    self.found.problems.push(DiscoveryError::Empty(path.to_owned()));
                }
            }
            Ok(_) => match self.file(path, None) {
                Ok(true) => {}
                Ok(false) => self.found.problems.push(DiscoveryError::Unknown(path.to_owned())),
                Err(source) => self.found.problems.push(DiscoveryError::Unreadable { path: path.to_owned(), source }),
            },
            Err(source) => self.found.problems.push(DiscoveryError::Unreadable { path: path.to_owned(), source }),
        }
    }

    /// Searches a directory recursively. Unreadable and unknown files are ignored.
    fn walk(&mut self, path: &Path, agent: Option<&'static AgentSpec>) {
        let Ok(kind) = fs::metadata(path) else { return };
        if kind.is_file() {
            let fits = path.extension().is_some_and(|ext| EXTENSIONS.iter().any(|ending| ext == *ending));
            // In a directory that a person named, a session may have any name; what it is follows from its content.
            if fits || agent.is_none() {
                let found = self.file(path, agent);
                if agent.is_none() && path.extension().is_some_and(|ext| ext == "jsonl") && !matches!(found, Ok(true)) {
                    self.found.left_out_count += 1;
                    if self.found.left_out.len() < MAX_LEFT_OUT {
                        self.found.left_out.push(path.to_owned());
                    }
                }
            }
            return;
        }
        // Links can form a cycle, so each directory is visited once.
        let Ok(real) = fs::canonicalize(path) else { return };
        if !kind.is_dir() || !self.seen.insert(real) {
            return;
        }
        let Ok(entries) = fs::read_dir(path) else { return };
        for entry in entries.flatten() {
            self.walk(&entry.path(), agent);
        }
    }

    /// Adds a file; `false` if its format is unknown.
    fn file(&mut self, path: &Path, agent: Option<&'static AgentSpec>) -> io::Result<bool> {
        let mut file = belay_fs::open_regular(path, Links::Follow)?;
        let facts = file.metadata()?;
        let modified = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if self.only.since.is_some_and(|since| modified < since) {
            return Ok(true);
        }
        self.head.clear();
        self.head.reserve(HEAD_BYTES);
        Read::by_ref(&mut file).take(HEAD_BYTES as u64).read_to_end(&mut self.head)?;
        let head = &self.head;
        let mut formats: Box<dyn Iterator<Item = &'static dyn TranscriptFormat>> = match agent {
            Some(agent) => Box::new(agent.transcript_formats().iter().copied()),
            None => Box::new(belay_agents::transcript::all_formats()),
        };
        let Some(format) = formats.find(|format| format.recognises(path, head)) else { return Ok(false) };
        let wanted = self.only.agent.is_none_or(|id| id == format.agent())
            && self.only.format.is_none_or(|name| name == format.agent());
        if wanted && self.seen.insert(fs::canonicalize(path)?) {
            let marks = format.fork_ids(path, head);
            let started = first_record_time(head).unwrap_or(modified);
            let path = path.to_owned();
            self.found.sources.push(SessionFile { path, format, bytes: facts.len(), started, modified, marks });
        }
        Ok(true)
    }
}

/// The time of the first record that has one, if it is written as text. Copying a file changes its modification time, but
/// not this.
fn first_record_time(head: &[u8]) -> Option<SystemTime> {
    const KEY: &[u8] = b"\"timestamp\":";
    let value = head[memchr::memmem::find(head, KEY)? + KEY.len()..].trim_ascii_start().strip_prefix(b"\"")?;
    let value = str::from_utf8(value.split(|byte| *byte == b'"').next()?).ok()?;
    let at = Timestamp::parse(value).filter(|at| at.is_known())?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(at.millis()).ok()?))
}

#[cfg(test)]
mod tests;
