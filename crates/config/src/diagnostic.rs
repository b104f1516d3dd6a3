//! Diagnostics with location, problem and hint.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::key::ConfigKey;
use crate::layer::Source;

/// A 1-based position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    pub fn from_offset(text: &str, byte: usize) -> Self {
        let before = &text[..text.floor_char_boundary(byte)];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }
}

/// An error or a note about the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub source: Source,
    /// Position, for files.
    pub position: Option<Position>,
    pub key: Option<ConfigKey>,
    pub what: String,
    pub hint: Option<String>,
}

impl Diagnostic {
    /// `file:line:column`, or the name of the variable or flag.
    pub fn location(&self) -> String {
        match self.position {
            Some(Position { line, column }) => format!("{}:{line}:{column}", self.source),
            None => self.source.to_string(),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location(), self.what)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}", list(.0))]
    Invalid(Vec<Diagnostic>),
}

impl ConfigError {
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Read { .. } => vec!["check the file's owner and permissions".to_owned()],
            Self::Invalid(problems) => problems.iter().filter_map(|problem| problem.hint.clone()).collect(),
        }
    }
}

fn list(problems: &[Diagnostic]) -> String {
    match problems {
        [one] => one.to_string(),
        many => {
            let lines: Vec<String> = many.iter().map(|problem| format!("\n  {problem}")).collect();
            format!("the configuration has {} errors{}", many.len(), lines.concat())
        }
    }
}
