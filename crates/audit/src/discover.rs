//! Which session files there are, and who reads them.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use belay_agents::{AGENTS, AgentSpec, TranscriptFormat, UserDirs};

/// How much of each file is looked at to tell what it is and which others it copies.
const HEAD_BYTES: usize = 96 * 1024;

/// Session files have one of these endings.
const EXTENSIONS: &[&str] = &["jsonl", "json", "db", "md"];

/// Where to look.
#[derive(Clone, Debug)]
pub enum SearchScope {
    /// Everything the agents of this user have written; `here` is the working folder, for agents
    /// that keep their history in the project.
    User {
        /// The user's folders.
        dirs: UserDirs,
        /// The working folder.
        here: PathBuf,
    },
    /// These files and folders.
    Paths(Vec<PathBuf>),
}

/// What narrows the search.
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
    /// Where it is.
    pub path: PathBuf,
    /// Who reads it.
    pub format: &'static dyn TranscriptFormat,
    /// Its size.
    pub bytes: u64,
    /// When it was last changed.
    pub modified: SystemTime,
    /// Ids from its beginning; a file that copies another shares some.
    pub marks: Vec<u64>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Discovery {
    /// Session files, in order of their paths.
    pub sources: Vec<SessionFile>,
    /// Files and folders that were named but are of no use, and why.
    pub problems: Vec<DiscoveryError>,
}

/// A named path that is of no use.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// The file system says no.
    #[error("{} cannot be read: {source}", .path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No reader knows it.
    #[error("{} is no session file of an agent Belay knows", .0.display())]
    Unknown(PathBuf),
    /// A folder without any.
    #[error("{} holds no session file of an agent Belay knows", .0.display())]
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
    /// The beginning of the file at hand.
    head: Vec<u8>,
}

impl Search {
    /// A path the user gave: everything about it that is of no use is said.
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

    /// Everything below a path; what cannot be read or recognised there is somebody else's.
    fn walk(&mut self, path: &Path, agent: Option<&'static AgentSpec>) {
        let Ok(kind) = fs::metadata(path) else { return };
        if kind.is_file() {
            let fits = path.extension().is_some_and(|ext| EXTENSIONS.iter().any(|ending| ext == *ending));
            if fits {
                let _ = self.file(path, agent);
            }
            return;
        }
        // A link may lead back up; a folder is entered once.
        let Ok(real) = fs::canonicalize(path) else { return };
        if !kind.is_dir() || !self.seen.insert(real) {
            return;
        }
        let Ok(entries) = fs::read_dir(path) else { return };
        for entry in entries.flatten() {
            self.walk(&entry.path(), agent);
        }
    }

    /// Takes a file in; `false` when no reader knows it.
    fn file(&mut self, path: &Path, agent: Option<&'static AgentSpec>) -> io::Result<bool> {
        let mut file = File::open(path)?;
        let facts = file.metadata()?;
        let modified = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if self.only.since.is_some_and(|since| modified < since) {
            return Ok(true);
        }
        self.head.clear();
        self.head.reserve(HEAD_BYTES);
        Read::by_ref(&mut file).take(HEAD_BYTES as u64).read_to_end(&mut self.head)?;
        let head = &self.head;
        let short = &head[..head.len().min(belay_agents::transcript::HEAD_BYTES)];
        let mut formats: Box<dyn Iterator<Item = &'static dyn TranscriptFormat>> = match agent {
            Some(agent) => Box::new(agent.transcript_formats().iter().copied()),
            None => Box::new(belay_agents::transcript::all_formats()),
        };
        let Some(format) = formats.find(|format| format.recognises(path, short)) else { return Ok(false) };
        let wanted = self.only.agent.is_none_or(|id| id == format.agent())
            && self.only.format.is_none_or(|name| name == format.agent());
        if wanted && self.seen.insert(fs::canonicalize(path)?) {
            let marks = format.fork_ids(path, head);
            let path = path.to_owned();
            self.found.sources.push(SessionFile { path, format, bytes: facts.len(), modified, marks });
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
