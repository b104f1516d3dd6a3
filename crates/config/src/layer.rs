//! A layer of configuration, and merging layers.

use std::fmt;
use std::path::PathBuf;

use toml::{Table, Value};

use crate::diagnostic::{Diagnostic, Position};
use crate::key::ConfigKey;

/// The origin of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Shipped with Belay.
    BuiltIn,
    /// The user's file.
    User(PathBuf),
    /// A project's file.
    Project { path: PathBuf, trusted: bool },
    /// An environment variable.
    Env(&'static str),
    /// A flag, as the user wrote it.
    Flag(String),
}

impl Source {
    /// A short name for lists and `--json`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::BuiltIn => "built-in",
            Self::User(_) => "user",
            Self::Project { .. } => "project",
            Self::Env(_) => "environment",
            Self::Flag(_) => "flag",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::User(path) | Self::Project { path, .. } => write!(f, "{}", path.display()),
            Self::Env(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// A table with its origin.
#[derive(Clone, Debug)]
pub struct Layer {
    pub source: Source,
    pub table: Table,
    /// The source text, for positions.
    pub(crate) text: Option<String>,
}

impl Layer {
    /// Parses the text of a file.
    pub(crate) fn parse(source: Source, text: String) -> Result<Self, Box<Diagnostic>> {
        match toml::from_str::<Table>(&text) {
            Ok(table) => Ok(Self { source, table, text: Some(text) }),
            Err(error) => Err(Box::new(Diagnostic {
                source,
                position: error.span().map(|span| Position::from_offset(&text, span.start)),
                key: None,
                what: format!("invalid TOML: {}", error.message().lines().next().unwrap_or("")),
                hint: None,
            })),
        }
    }

    /// Parses the lines of a file that are valid TOML, and reports the others. Fails if the rest cannot be parsed either.
    pub(crate) fn parse_valid_lines(source: Source, text: String) -> Result<(Self, Vec<Diagnostic>), Box<Diagnostic>> {
        let mut lines: Vec<&str> = text.split('\n').collect();
        let mut problems = Vec::new();
        loop {
            let problem = match Self::parse(source.clone(), lines.join("\n")) {
                Ok(layer) => {
                    problems.sort_by_key(|problem: &Diagnostic| problem.position);
                    return Ok((Self { text: Some(text), ..layer }, problems));
                }
                Err(problem) => problem,
            };
            let at = problem.position.map(|position| position.line - 1).filter(|_| problems.len() < MAX_BROKEN_LINES);
            let Some(at) = at.filter(|at| lines.get(*at).is_some_and(|line| !line.trim().is_empty())) else {
                return Err(problem);
            };
            problems.push(Diagnostic { key: key_of_line(&lines, at), ..*problem });
            // Without its heading, a section would become part of the section above it.
            let is_heading = lines[at].trim_start().starts_with('[');
            let section = lines[at + 1..].iter().take_while(|line| is_heading && !line.trim_start().starts_with('['));
            let end = at + 1 + section.count();
            lines[at..end].fill("");
        }
    }

    /// A layer with one value, from a variable or a flag.
    pub(crate) fn from_value(source: Source, key: &ConfigKey, value: Value) -> Self {
        let mut table = Table::new();
        key.set(&mut table, value);
        Self { source, table, text: None }
    }
}

/// Lines that are left out of a file before it counts as unreadable.
const MAX_BROKEN_LINES: usize = 20;

/// The key that a line sets, or that of its section.
fn key_of_line(lines: &[&str], at: usize) -> Option<ConfigKey> {
    let heading = |line: &&str| line.trim_start().starts_with('[');
    let section = lines[..=at].iter().rev().copied().find(heading);
    let section = section.map_or("", |line| line.split('#').next().unwrap_or_default().trim_matches(['[', ']', ' ']));
    let name = lines[at].split_once('=').map(|(name, _)| name.trim()).filter(|_| !heading(&lines[at]));
    let key = [Some(section), name].into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
    ConfigKey::parse(&key).or_else(|| ConfigKey::parse(section))
}

/// Lists that are combined across layers.
const APPENDING_KEYS: &[&[&str]] = &[
    &["detect", "allow", "actions"],
    &["detect", "allow", "pairs"],
    &["detect", "custom"],
    &["detect", "identity"],
    &["detect", "prices"],
];

/// Whether the values of all layers are combined for this key.
pub(crate) fn is_appending(key: &ConfigKey) -> bool {
    APPENDING_KEYS.iter().any(|path| key.parts().iter().map(String::as_str).eq(path.iter().copied()))
}

/// Merges `upper` into `lower`: tables merge, some lists are combined, other values are replaced.
pub(crate) fn overlay(lower: &mut Table, upper: &Table) {
    fn merge(path: &ConfigKey, lower: &mut Table, upper: &Table) {
        for (name, value) in upper {
            let key = path.child(name);
            match (lower.get_mut(name), value) {
                (Some(Value::Table(below)), Value::Table(above)) => merge(&key, below, above),
                (Some(Value::Array(below)), Value::Array(above)) if is_appending(&key) => combine(below, above),
                _ => {
                    lower.insert(name.clone(), value.clone());
                }
            }
        }
    }
    merge(&ConfigKey::default(), lower, upper);
}

/// Prepends `above` to `below` and removes elements of the same name from `below`.
fn combine(below: &mut Vec<Value>, above: &[Value]) {
    let name = |value: &Value| value.get("name").and_then(Value::as_str).map(str::to_owned);
    let replaced = |old: &Value| above.iter().any(|new| new == old || (name(new).is_some() && name(new) == name(old)));
    below.retain(|old| !replaced(old));
    below.splice(0..0, above.iter().cloned());
}

/// All values that are not tables, with their keys. An empty table counts as a value.
pub(crate) fn leaves(table: &Table) -> Vec<(ConfigKey, &Value)> {
    fn walk<'t>(prefix: &ConfigKey, table: &'t Table, found: &mut Vec<(ConfigKey, &'t Value)>) {
        for (name, value) in table {
            let key = prefix.child(name);
            match value {
                Value::Table(inner) if !inner.is_empty() => walk(&key, inner, found),
                _ => found.push((key, value)),
            }
        }
    }
    let mut found = Vec::new();
    walk(&ConfigKey::default(), table, &mut found);
    found
}
